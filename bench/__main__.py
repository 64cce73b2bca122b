"""`make bench`: runs every case with every system in turn, and keeps the results.

python -m bench [--case bytes200 ...] [--system sluice ...] [--rounds 3] [--quick]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from confluent_kafka import KafkaException

from bench import comparison, failover, kills, latency, machine, replicate, results, table
from bench.ground import DIRECTORY, Ground, delete_topics, say
from bench.load import Load, fill
from bench.measure import NothingArrives
from bench.mirror import Factory
from bench.mirrormaker import MirrorMaker, exactly_once
from bench.results import Result
from bench.sluice_run import Sluice
from deploy.lab.operator import Refused
from deploy.lab.process import NotStarted

SYSTEMS: dict[str, Factory] = {
    "mirrormaker2": MirrorMaker,
    "mirrormaker2_exactly_once": exactly_once,
    "sluice": Sluice,
}

LOADS = {
    "bytes200": Load("bytes200", 16_000_000, 200, 1000),
    "bytes1000": Load("bytes1000", 4_000_000, 1000, 200),
    "one_record_batches": Load("one_record_batches", 2_400_000, 200, 1),
    # Not in a full run: the batches of a producer with Kafka's default batch.size of 16 KiB.
    "bytes200_small_batches": Load("bytes200_small_batches", 8_000_000, 200, 80),
}
FAILOVER = "failover"
CASES = (*LOADS, "latency2000", "kills", FAILOVER)
FULL = tuple(case for case in CASES if case != "bytes200_small_batches")

# The exactly-once mode gets one round, the last: the brokers' JVMs are slow in the first.
ONE_ROUND = ("mirrormaker2_exactly_once",)


@dataclass(frozen=True, slots=True)
class Size:
    """Amount of work for each kind of case."""

    load_share: float = 1.0
    seconds_max: float = 25.0
    latency_warm_seconds: float = 12.0
    latency_seconds: float = 60.0
    # Sluice's runs are long enough for three ends of epochs. In much shorter runs 0.3 s of stall in
    # each would exceed the slowest hundredth of the records.
    epoch_seconds: float = 40.0
    epochs: float = 3.2
    kills: int = 4
    kill_every_seconds: float = 25.0
    kill_rate: int = 20_000


QUICK = Size(
    load_share=0.05,
    seconds_max=8.0,
    latency_warm_seconds=5.0,
    latency_seconds=12.0,
    epoch_seconds=8.0,
    epochs=2.0,
    kills=2,
    kill_every_seconds=20.0,
    kill_rate=3000,
)

# Failures of one system; the others are measured all the same.
FAILURES = (NothingArrives, NotStarted, Refused, KafkaException, RuntimeError, TimeoutError)

Measured = tuple[Result, dict[str, Any]]


@click.command()
@click.option("--case", "cases", multiple=True, type=click.Choice(CASES), help="Default: all.")
@click.option("--system", "systems", multiple=True, type=click.Choice(list(SYSTEMS)))
@click.option("--rounds", default=3, show_default=True, help="Of each throughput case.")
@click.option("--quick", is_flag=True, help="A twentieth of the work: shows that all works.")
@click.option("--out", type=click.Path(path_type=Path), help="The JSON file to keep results in.")
def main(
    cases: Sequence[str], systems: Sequence[str], rounds: int, quick: bool, out: Path | None
) -> None:
    """Measures Sluice and MirrorMaker 2; ends with status 1 where a system failed."""
    size = QUICK if quick else Size()
    rounds = 1 if quick else rounds
    chosen = tuple(systems) or tuple(SYSTEMS)
    # Partial and quick runs do not replace full results.
    is_whole = not quick and set(chosen) == set(SYSTEMS)
    file = out or (results.FILE if is_whole else DIRECTORY.with_name("bench-part.json"))
    load = machine.load_average()
    if load > 1.0:
        say(f"load average is {load:.1f}: other programs run, the figures will be worth little")
    failures: list[str] = []
    wanted = cases or FULL
    if mirrored := [case for case in wanted if case != FAILOVER]:
        with Ground() as ground:
            for case in mirrored:
                began_with = round(machine.load_average(), 1)
                found = measure(ground, case, chosen, rounds, size, failures)
                keep(file, case, found, load_average=began_with, quick=quick)
        say(f"results are in {file}")
    if FAILOVER in wanted:
        try:
            failover.run(quick=quick)
        except FAILURES as error:
            failures.append(f"{FAILOVER} failed: {str(error) or type(error).__name__}")
    for failure in failures:
        say(failure)
    sys.exit(1 if failures else 0)


def keep(
    file: Path,
    case: str,
    found: Mapping[str, Sequence[Measured]],
    *,
    load_average: float,
    quick: bool,
) -> None:
    """Stores the medians of a case, and how each was measured."""
    run = {
        "at": time.strftime("%Y-%m-%d %H:%M"),
        "load_average": load_average,
        "rounds": max(map(len, found.values()), default=0),
        "quick": quick,
        "details": [
            {"system": system, **details}
            for system, measured in found.items()
            for _, details in measured
        ],
    }
    medians = [
        results.median([result for result, _ in measured])
        if measured
        else Result(case=case, system=system)
        for system, measured in found.items()
    ]
    results.keep(file, case, medians, machine=machine.described(), run=run)
    if file == results.FILE:
        table.main()
        comparison.main()


def measure(
    ground: Ground,
    case: str,
    systems: Sequence[str],
    rounds: int,
    size: Size,
    failures: list[str],
) -> dict[str, list[Measured]]:
    """Runs all rounds of one case for each system. A failed system is noted; the others
    continue."""
    act, end = prepared(ground, case, size)
    is_throughput = case in LOADS
    found: dict[str, list[Measured]] = {system: [] for system in systems}
    try:
        for number in range(rounds if is_throughput else 1):
            for system in systems:
                if system in ONE_ROUND and number < rounds - 1 and is_throughput:
                    continue
                say(f"{case}, round {number + 1}: {system}")
                try:
                    found[system].append(act(system))
                except FAILURES as error:
                    what = str(error) or type(error).__name__
                    say(f"  FAILED: {what}")
                    failures.append(f"{case}, {system} failed: {what.splitlines()[0]}")
    finally:
        end()
    return found


def prepared(
    ground: Ground, case: str, size: Size
) -> tuple[Callable[[str], Measured], Callable[[], None]]:
    """Returns a function that measures one system, and one that cleans up after the last system."""
    if case == "latency2000":
        return lambda system: _latency(ground, system, size), lambda: None
    if case == "kills":
        return lambda system: _kills(ground, system, size), lambda: None
    load = LOADS[case].of(int(LOADS[case].records * size.load_share))
    fill(ground, load)

    def act(system: str) -> Measured:
        window = replicate.measured(
            ground, system, SYSTEMS[system], load, seconds_max=size.seconds_max
        )
        result = Result(
            case=case,
            system=system,
            records_per_second=window.records_per_second,
            cpu_seconds_per_million=window.cpu_seconds_per_million,
            brokers_cpu_seconds_per_million=window.brokers_cpu_seconds_per_million,
            peak_rss_mb=window.peak_rss_mb,
        )
        return result, asdict(window)

    return act, lambda: delete_topics(ground.source, [load.topic])


def _latency(ground: Ground, system: str, size: Size) -> Measured:
    is_ours = system == "sluice"
    found = latency.measured(
        ground,
        SYSTEMS[system],
        warm_seconds=size.latency_warm_seconds,
        seconds=size.epoch_seconds * size.epochs if is_ours else size.latency_seconds,
        epoch_seconds=size.epoch_seconds,
    )
    result = Result(
        case="latency2000",
        system=system,
        records_per_second=found.window.records_per_second,
        cpu_seconds_per_million=found.window.cpu_seconds_per_million,
        latency_ms={"p50": found.p50, "p99": found.p99},
        peak_rss_mb=found.window.peak_rss_mb,
    )
    return result, asdict(found)


def _kills(ground: Ground, system: str, size: Size) -> Measured:
    found = kills.measured(
        ground,
        SYSTEMS[system],
        kills=size.kills,
        records_per_second=size.kill_rate,
        every_seconds=size.kill_every_seconds,
    )
    result = Result(
        case="kills",
        system=system,
        peak_rss_mb=found.peak_rss_mb,
        duplicates_uncommitted=found.duplicates_uncommitted,
        duplicates_committed=found.duplicates_committed,
        lost=found.lost,
    )
    return result, asdict(found)


if __name__ == "__main__":
    main()
