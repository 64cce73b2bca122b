"""Seeds that `make check` plays (seeds.json, by `python -m bench.seeds`), and the line at the end
of a test run that says which were played.

With `-n`, tests run in other processes than the one that prints: what a test has played is a
property of its report.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

FILE = Path(__file__).with_name("seeds.json")
PROPERTY = "history"


@dataclass(frozen=True, slots=True, order=True)
class MissingRule:
    """History in which it is found that a rule is missing.

    Args:
        mutation: name of the mutation that takes the rule out.
    """

    family: str
    mutation: str
    seed: int

    def __str__(self) -> str:
        return f"{self.family}-{self.mutation}-{self.seed}"


class CheckedHistory(NamedTuple):
    """History in which no rule is missing.

    Args:
        seconds: virtual time with load and faults.
    """

    family: str
    seed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CheckedSeeds:
    """Seeds that `make check` plays.

    Args:
        missing: histories in which a rule is missing, and which have to be wrong.
    """

    histories: Sequence[CheckedHistory]
    missing: Sequence[MissingRule]

    @property
    def seeds(self) -> list[tuple[str, int]]:
        """Families and seeds of the histories in which no rule is missing."""
        return [(it.family, it.seed) for it in self.histories]


def read_checked_seeds() -> CheckedSeeds:
    """Returns the seeds that `make check` plays."""
    stored = json.loads(FILE.read_text())
    histories = [
        CheckedHistory(family, int(seed), seconds)
        for family, seeds in stored["histories"].items()
        for seed, seconds in seeds.items()
    ]
    return CheckedSeeds(histories, [MissingRule(**each) for each in stored["missing"]])


def write_checked_seeds(seeds: CheckedSeeds) -> None:
    """Stores the seeds that `make check` plays."""
    by_family: dict[str, dict[int, float]] = {}
    for family, seed, seconds in seeds.histories:
        by_family.setdefault(family, {})[seed] = seconds
    lists = [f'    "{family}": {json.dumps(it)}' for family, it in by_family.items()]
    missing = [f"    {json.dumps(asdict(each))}" for each in seeds.missing]
    FILE.write_text(
        '{\n  "histories": {\n' + ",\n".join(lists) + "\n  },\n"
        '  "missing": [\n' + ",\n".join(missing) + "\n  ]\n}\n"
    )


class PlayedSeeds:
    """Plugin of the process that prints."""

    def __init__(self) -> None:
        self._seconds: dict[str, dict[int, float]] = {}
        """Virtual seconds of each seed, by family."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Takes down the histories of a test."""
        properties: dict[str, Any] = dict(report.user_properties)
        if report.when == "call" and PROPERTY in properties:
            family, seed, seconds = properties[PROPERTY]
            self._seconds.setdefault(family, {})[seed] = seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints the line, if there were histories."""
        if self._seconds:
            terminalreporter.write_line(self.line())

    def line(self) -> str:
        """Returns the families with their seeds, and the virtual time of all."""
        by_family = sorted(self._seconds.items())
        told = ", ".join(f"{family} {_ranges([*seeds])}" for family, seeds in by_family)
        seconds = sum(sum(by.values()) for by in self._seconds.values())
        return f"histories: {told} ({seconds / 60:.1f} virtual minutes)"


def record_seed(
    record_property: Callable[[str, object], None], family: str, seed: int, seconds: float
) -> None:
    """Adds a history to the report of a test, with its virtual seconds."""
    record_property(PROPERTY, (family, seed, seconds))


def _ranges(seeds: list[int]) -> str:
    """Returns seeds as text: 1-3 5."""
    firsts = [seed for seed in sorted(seeds) if seed - 1 not in seeds]
    lasts = [seed for seed in sorted(seeds) if seed + 1 not in seeds]
    return " ".join(
        str(first) if first == last else f"{first}-{last}"
        for first, last in zip(firsts, lasts, strict=True)
    )
