"""The seeds that a run has played are printed, also those of other processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
CONFTEST = """\
from tests.world.played_seeds import PlayedSeeds
def pytest_configure(config):
    config.pluginmanager.register(PlayedSeeds())
"""
TESTS = """\
import pytest
from tests.world.played_seeds import record_seed
SEEDS = [("mirror", 1), ("mirror", 2), ("mirror", 5), ("groups", 1), ("sinks", 1)]
@pytest.mark.parametrize(("family", "seed"), SEEDS)
def test_histories(family, seed, record_property):
    assert family != "sinks"
    record_seed(record_property, family, seed, 45.0)
"""


def test_a_run_ends_with_the_seeds_that_its_workers_have_played(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_one.py").write_text(TESTS)
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "xdist", tmp_path],
        cwd=CHECKOUT,
        env=environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    line = "histories: groups 1, mirror 1-2 5 (3.0 virtual minutes)"
    assert line in ended.stdout.splitlines(), ended.stdout + ended.stderr
