"""Bench that measures several systems side by side: rounds, failures, results, exit status."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import click
from confluent_kafka import KafkaException

from bench import machine, results
from bench.ground import say
from bench.measure import NothingArrives
from bench.results import Figures
from deploy.lab.operator import Refused
from deploy.lab.process import NotStarted

GroundT = TypeVar("GroundT")
Measured = tuple[Figures, dict[str, Any]]
"""Figures of a round, and details for the results file."""
IDLE_LOAD_MAX = 1.0
"""Load average from which on other programs disturb a run."""


class Impossible(Exception):
    """A system cannot do a case. The message says why."""


class Bench(ABC, Generic[GroundT]):
    """Cases that each system is measured with, in turn, on the same servers.

    A system that fails is noted, and the others are measured all the same.

    Args:
        is_quick: less work, which shows only that all works.
    """

    systems: ClassVar[Sequence[str]]
    cases: ClassVar[Sequence[str]]
    full: ClassVar[Sequence[str]]
    """Cases of a full run."""
    result: ClassVar[type[Figures]]
    file: ClassVar[Path]
    """Results of runs of all systems."""
    directory: ClassVar[Path]
    """Files of the servers and systems."""
    packages: ClassVar[Sequence[str]] = ()
    """Packages whose versions are part of the machine's description."""
    failures: ClassVar[tuple[type[Exception], ...]] = (
        NothingArrives,
        NotStarted,
        Refused,
        KafkaException,
        RuntimeError,
        OSError,
        EOFError,
    )
    """Failures of one system."""

    def __init__(self, *, is_quick: bool) -> None:
        self.is_quick = is_quick
        self.failed: list[str] = []

    @abstractmethod
    def ground(self) -> AbstractContextManager[GroundT]:
        """Returns the servers of a run."""

    @abstractmethod
    def is_rated(self, case: str) -> bool:
        """Returns True for a case of throughput: it has a full topic, and several rounds."""

    @abstractmethod
    def prepare(self, ground: GroundT, case: str) -> None:
        """Fills the topic of a rated case."""

    @abstractmethod
    def clear(self, ground: GroundT, case: str) -> None:
        """Deletes the topic of a rated case."""

    @abstractmethod
    def measured(self, ground: GroundT, case: str, system: str) -> Measured:
        """Measures one system once. Raises Impossible, or one of `failures`."""

    @abstractmethod
    def write_tables(self) -> None:
        """Writes the results into bench/README.md."""

    def rounds_of(self, case: str, system: str, rounds: int) -> Sequence[int]:
        """Returns those of the rounds of a case, from 0 on, in which a system is measured."""
        return range(rounds)

    def run(self, cases: Sequence[str], systems: Sequence[str], rounds: int, file: Path) -> None:
        """Measures the systems in all cases, and keeps the results of each case in a file."""
        with self.ground() as ground:
            for case in cases:
                load_average = round(machine.load_average(), 1)
                found, impossible = self.measure(ground, case, systems, rounds)
                self._keep(file, case, found, impossible, load_average)
        say(f"results are in {file}")

    def measure(
        self, ground: GroundT, case: str, systems: Sequence[str], rounds: int
    ) -> tuple[dict[str, list[Measured]], dict[str, str]]:
        """Runs all rounds of one case for each system.

        Returns what was measured, and why some systems cannot do the case.
        """
        is_rated = self.is_rated(case)
        rounds = rounds if is_rated else 1
        if is_rated:
            self.prepare(ground, case)
        taking = {system: self.rounds_of(case, system, rounds) for system in systems}
        found: dict[str, list[Measured]] = {system: [] for system in systems if taking[system]}
        impossible: dict[str, str] = {}
        try:
            for number in range(rounds):
                for system in found:
                    if system in impossible or number not in taking[system]:
                        continue
                    say(f"{case}, round {number + 1}: {system}")
                    try:
                        found[system].append(self.measured(ground, case, system))
                    except Impossible as error:
                        say(f"  left out: {error}")
                        impossible[system] = str(error)
                    except self.failures as error:
                        what = str(error) or type(error).__name__
                        say(f"  FAILED: {what}")
                        self.failed.append(f"{case}, {system} failed: {what.splitlines()[0]}")
        finally:
            if is_rated:
                self.clear(ground, case)
        return found, impossible

    def _keep(
        self,
        file: Path,
        case: str,
        found: Mapping[str, Sequence[Measured]],
        impossible: Mapping[str, str],
        load_average: float,
    ) -> None:
        """Stores the median of each system, and how the case was measured."""
        run = {
            "at": time.strftime("%Y-%m-%d %H:%M"),
            "load_average": load_average,
            "rounds": max(map(len, found.values()), default=0),
            "quick": self.is_quick,
            "impossible": dict(impossible),
            "details": [
                {"system": system, **details}
                for system, measured in found.items()
                for _, details in measured
            ],
        }
        kept = [
            self.result.median([result for result, _ in measured])
            if measured
            else self.result(case=case, system=system)
            for system, measured in found.items()
        ]
        described = machine.described() | dict(map(_package, self.packages))
        results.keep(file, case, kept, machine=described, run=run)
        if file == self.file:
            self.write_tables()


def _package(name: str) -> tuple[str, str]:
    try:
        return name, version(name)
    except PackageNotFoundError:
        return name, "not installed"


def program(bench: type[Bench[Any]], *, rounds: int, quick_part: str) -> Callable[[], None]:
    """Returns the command line of a bench; it ends with status 1 where a system failed.

    Args:
        rounds: of each rated case, unless the command line says otherwise.
        quick_part: of the work that --quick leaves, in words.
    """

    def main(
        cases: Sequence[str], systems: Sequence[str], rounds: int, quick: bool, out: Path | None
    ) -> None:
        chosen = tuple(systems) or tuple(bench.systems)
        # Partial and quick runs do not replace full results.
        is_whole = not quick and set(chosen) == set(bench.systems)
        part = bench.directory.with_name(f"{bench.directory.name}-part.json")
        if (load := machine.load_average()) > IDLE_LOAD_MAX:
            say(f"load average is {load:.1f}: other programs run, the figures will be worth little")
        running = bench(is_quick=quick)
        running.run(
            tuple(cases) or bench.full,
            chosen,
            1 if quick else rounds,
            out or (bench.file if is_whole else part),
        )
        for failure in running.failed:
            say(failure)
        sys.exit(1 if running.failed else 0)

    return click.Command(
        None,
        callback=main,
        help=bench.__doc__,
        params=[
            click.Option(
                ["--case", "cases"],
                multiple=True,
                type=click.Choice(bench.cases),
                help="Default: a full run.",
            ),
            click.Option(
                ["--system", "systems"],
                multiple=True,
                type=click.Choice(bench.systems),
                help="Default: all.",
            ),
            click.Option(
                ["--rounds"], default=rounds, show_default=True, help="Of each throughput case."
            ),
            click.Option(
                ["--quick"], is_flag=True, help=f"{quick_part} of the work: shows that all works."
            ),
            click.Option(
                ["--out"],
                type=click.Path(path_type=Path),
                help="The JSON file to keep results in.",
            ),
        ],
    )
