"""Line at the end of a test run: which seeds of which families it has played.

With `-n`, tests run in other processes than the one that prints: what a test has played is a
property of its report.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

PROPERTY = "histories"
RESULT = re.compile(r"^seed (\d+): \d+ records, ([\d.]+) s,", re.MULTILINE)
"""Line of `python -m tests.world` for a history that was right."""


class PlayedSeeds:
    """Plugin of the process that prints."""

    def __init__(self) -> None:
        self._seconds: dict[str, dict[int, float]] = {}
        """Virtual seconds of each seed, by family."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Takes down the histories of a test."""
        properties: dict[str, Any] = dict(report.user_properties)
        if report.when == "call" and PROPERTY in properties:
            family, seconds = properties[PROPERTY]
            self._seconds.setdefault(family, {}).update(seconds)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints the line, if there were histories."""
        if self._seconds:
            terminalreporter.write_line(self.line())

    def line(self) -> str:
        """Returns the families with their seeds, and the virtual time of all."""
        by_family = sorted(self._seconds.items())
        told = ", ".join(f"{family} {_range([*seeds])}" for family, seeds in by_family)
        seconds = sum(sum(by.values()) for by in self._seconds.values())
        return f"histories: {told} ({seconds / 60:.1f} virtual minutes)"


def record_seeds(record_property: Callable[[str, object], None], family: str, output: str) -> None:
    """Adds the histories that `python -m tests.world` has printed to the report of a test."""
    seconds = {seed: float(found) for seed, found in RESULT.findall(output)}
    record_property(PROPERTY, (family, seconds))


def _range(seeds: list[int]) -> str:
    first, last = min(seeds), max(seeds)
    return str(first) if first == last else f"{first}-{last}"
