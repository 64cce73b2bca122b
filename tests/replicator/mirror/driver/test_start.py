"""Claims about what `sluice replicate` does before Spark's JVM is launched."""

import subprocess
import sys

import pytest

from replicator.config.topology import UnknownRegion
from replicator.mirror.driver.start import run

CONFIG = """
routes = ["east>west"]

[regions.west]
redis = "redis://127.0.0.1:1"
regional = { bootstrap = ["127.0.0.1:3"] }
aggregate = { bootstrap = ["127.0.0.1:4"] }

[regions.east]
redis = "redis://127.0.0.1:1"
regional = { bootstrap = ["127.0.0.1:1"] }
aggregate = { bootstrap = ["127.0.0.1:2"] }
"""
LARGE = ("aiokafka", "confluent_kafka", "numpy", "pyarrow", "redis")


def test_a_region_without_routes_is_refused(tmp_path):
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG)
    with pytest.raises(UnknownRegion, match="no route leads into"):
        run(file, "east")


def test_no_large_module_delays_the_jvm():
    script = "import sys, replicator.mirror.driver.start; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert set(LARGE).isdisjoint(told.stdout.decode().split())
