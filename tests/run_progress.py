"""Progress of a test run: which part is done, what failed, and how long the rest will take.

The estimate stands on the seconds that each test took before (`tests/durations.json`).
`pytest --store-durations` measures them anew.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

FILE = Path(__file__).parent / "durations.json"
LINE_SECONDS = 60.0
SAID_FROM_SECONDS = 60.0
"""Shorter runs need no more than pytest's own output."""
TEST_SECONDS = 5.0
"""Assumed duration of a test whose duration is not stored, for the order of files."""
TRUSTED_SECONDS = 60.0
"""Work after which this machine's speed is compared with the stored seconds."""


def stored_durations(file: Path = FILE) -> dict[str, float]:
    """Returns the stored seconds of each test, or nothing if none were stored."""
    return json.loads(file.read_text()) if file.exists() else {}


def longest_first(tests: Iterable[str], seconds: Mapping[str, float]) -> list[str]:
    """Returns the files of some tests, those first whose tests take longest together.

    A test of unknown duration counts as TEST_SECONDS.
    """
    files: Counter[str] = Counter()
    for test in tests:
        files[file_of(test)] += seconds.get(test, TEST_SECONDS)
    return sorted(files, key=lambda file: (-files[file], file))


class Estimate:
    """Seconds of work that is left, from stored durations and the speed of this run so far."""

    def __init__(self, tests: Iterable[str], stored: Mapping[str, float]) -> None:
        """Takes the tests and the stored seconds of each; new tests count as 0 s."""
        self._each = {test: stored.get(test, 0.0) for test in tests}
        self._left = sum(self._each.values())
        self._expected_seconds = 0.0
        self._spent_seconds = 0.0

    def ended(self, test: str, seconds: float) -> None:
        """Counts a test that ended, with the seconds that it took."""
        self._left -= self._each.get(test, 0.0)
        self._expected_seconds += self._each.get(test, 0.0)
        self._spent_seconds += seconds

    def left_seconds(self, workers: int) -> float:
        """Returns the seconds until the end if the work spreads evenly over the workers."""
        is_known = self._expected_seconds >= TRUSTED_SECONDS
        pace = self._spent_seconds / self._expected_seconds if is_known else 1.0
        return max(0.0, self._left * pace / workers)


class RunProgress:
    """Plugin of the process that prints: begins with the estimate, then a line each minute."""

    def __init__(
        self, config: pytest.Config, stored: Mapping[str, float], line_seconds: float = LINE_SECONDS
    ) -> None:
        """Takes the stored seconds of each test, and the seconds between two lines."""
        self._config = config
        self._stored = stored
        self._line_seconds = line_seconds
        self._tests: list[str] = []
        self._estimate = Estimate([], {})
        self._is_said = False
        self._outcomes: Counter[str] = Counter()
        self._spent: Counter[str] = Counter()
        self._began = self._said_at = time.monotonic()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: list[str]) -> None:
        """Begins with the tests that the first worker found; all workers find the same."""
        if not self._tests:
            self._begin(ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Begins with the tests of a run without workers."""
        if session.items:
            self._begin([item.nodeid for item in session.items])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts a test, and prints a line once a minute."""
        self._spent[report.nodeid] += report.duration
        outcome: str = report.outcome  # "rerun" is one of pytest-rerunfailures
        if outcome in ("failed", "rerun"):
            self._outcomes[outcome] += 1
        if report.when != "teardown" or outcome == "rerun":
            return
        self._outcomes["done"] += 1
        self._estimate.ended(report.nodeid, self._spent[report.nodeid])
        now = time.monotonic()
        if self._is_said and now - self._said_at >= self._line_seconds:
            self._said_at = now
            # The dots of tests stand on the current line.
            self._print(f"\n{self._line(now)}")

    def pytest_sessionfinish(self) -> None:
        """Stores the durations if the command line asks for it."""
        if self._config.getoption("--store-durations"):
            seconds = {**self._stored, **{k: round(v, 1) for k, v in self._spent.items()}}
            FILE.write_text(json.dumps(seconds, indent=2, sort_keys=True) + "\n")

    def _begin(self, ids: list[str]) -> None:
        self._tests = ids
        self._estimate = Estimate(ids, self._stored)
        left = self._estimate.left_seconds(self._workers)
        self._is_said = left >= SAID_FROM_SECONDS
        if self._is_said:
            files = len({file_of(test) for test in ids})
            self._print(f"{len(ids)} tests of {files} files, about {_minutes(left)}")

    def _line(self, now: float) -> str:
        count, done = len(self._tests), self._outcomes["done"]
        left = self._estimate.left_seconds(self._workers)
        return (
            f"{done} of {count} tests, {self._outcomes['failed']} failed, "
            f"{self._outcomes['rerun']} run once more; {_minutes(now - self._began)} gone, "
            f"about {_minutes(left)} left"
        )

    @property
    def _workers(self) -> int:
        return int(self._config.getoption("numprocesses", None) or 1)

    def _print(self, line: str) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(line)


def is_worker() -> bool:
    """Returns True in a worker of pytest-xdist, which prints nothing."""
    return "PYTEST_XDIST_WORKER" in os.environ


def file_of(nodeid: str) -> str:
    """Returns the file of a test."""
    return nodeid.partition("::")[0]


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"
