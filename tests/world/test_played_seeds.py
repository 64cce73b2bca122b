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
from tests.world.played_seeds import record_seeds
LINES = {
    "mirror": "seed 1: 9 records, 60.000 s, 5 turns\\nseed 2: 9 records, 30.500 s, 5 turns\\n",
    "groups": "seed 1: 9 records, 29.500 s, 5 turns\\n",
    "sinks": "seed 1: 9 records, 60.000 s, 5 turns\\nseed 2: a row is missing\\n",
}
@pytest.mark.parametrize("family", LINES)
def test_histories(family, record_property):
    record_seeds(record_property, family, LINES[family])
    assert family != "sinks"
"""


def test_a_run_ends_with_the_seeds_that_its_workers_have_played(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_one.py").write_text(TESTS)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", tmp_path],
        cwd=CHECKOUT,
        env={name: value for name, value in os.environ.items() if "PYTEST" not in name},
        capture_output=True,
        text=True,
        check=False,
    )
    line = "histories: groups 1, mirror 1-2, sinks 1 (3.0 virtual minutes)"
    assert line in ended.stdout.splitlines(), ended.stdout + ended.stderr
