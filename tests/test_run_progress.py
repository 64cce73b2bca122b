"""Progress of a test run: the order of files, the estimate, and the lines of a real run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.run_progress import Estimate, longest_first

CHECKOUT = Path(__file__).parents[1]
CONFTEST = """\
from tests.run_progress import RunProgress, is_worker
def pytest_configure(config):
    if not is_worker():
        stored = {f"test_one.py::test_it[{number}]": 150.0 for number in range(4)}
        config.pluginmanager.register(RunProgress(config, stored, 0.0))
"""
TESTS = """\
import pytest
@pytest.mark.parametrize("number", range(4))
def test_it(number):
    assert number != 3
"""


def test_the_file_whose_tests_take_longest_together_comes_first():
    tests = ["a::one", "b::one", "b::two", "c::one"]
    assert longest_first(tests, {"a::one": 7.0, "b::one": 5.0, "b::two": 3.0, "c::one": 1.0}) == [
        "b",
        "a",
        "c",
    ]


def test_a_test_of_unknown_duration_is_neither_first_nor_last():
    assert longest_first(["a::one", "b::one", "c::one"], {"a::one": 0.1, "c::one": 60.0}) == [
        "c",
        "b",
        "a",
    ]


def test_the_estimate_is_the_stored_work_shared_by_the_workers():
    estimate = Estimate(["a", "b", "new"], {"a": 100.0, "b": 50.0, "gone": 1.0})
    assert estimate.left_seconds(1) == 150
    assert estimate.left_seconds(2) == 75
    estimate.ended("new", 3.0)
    estimate.ended("b", 50.0)
    assert estimate.left_seconds(1) == 100


def test_the_estimate_follows_the_pace_of_this_run_once_a_minute_of_work_is_done():
    estimate = Estimate(["a", "b"], {"a": 100.0, "b": 300.0})
    estimate.ended("a", 200.0)
    assert estimate.left_seconds(1) == 600


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_begins_with_its_estimate_and_counts_what_ended_and_failed(tmp_path, workers):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_one.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-n", workers, "-p", "no:cacheprovider"]
    env = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    ended = subprocess.run(
        [*command, "-c", str(CHECKOUT / "pyproject.toml"), "--rootdir", str(tmp_path), tmp_path],
        cwd=CHECKOUT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr
    lines = ended.stdout.splitlines()
    assert f"4 tests of 1 files, about {10 // max(1, int(workers))} min" in lines
    last = r"^4 of 4 tests, 1 failed, 0 run once more; \d+ s gone, about 0 s left$"
    assert re.search(last, ended.stdout, re.MULTILINE), ended.stdout
