"""Claims about what `sluice aggregate` does before Spark's JVM is launched."""

import subprocess
import sys

import pytest

from aggregator.driver.start import run
from replicator.config.topology import UnknownRegion

CONFIG = """
[regions.east]
redis = "redis://127.0.0.1:1"
regional = { bootstrap = ["127.0.0.1:1"] }
aggregate = { bootstrap = ["127.0.0.1:2"] }
"""
LARGE = ("aiokafka", "confluent_kafka", "numpy", "pyarrow", "redis")


def test_a_region_without_feeds_is_refused(tmp_path):
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG)
    with pytest.raises(UnknownRegion, match="has no|no feed has"):
        run(file, "east")


def test_no_large_module_delays_the_jvm():
    script = "import sys, aggregator.driver.start; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert set(LARGE).isdisjoint(told.stdout.decode().split())
