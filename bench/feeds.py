"""Loading topics into ClickHouse: Sluice, the Kafka engine and a loop of drivers on the same work.

python -m bench.feeds [--case json200 ...] [--system sluice ...] [--rounds 1] [--quick] [--out FILE]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click
from clickhouse_driver.errors import Error
from confluent_kafka import KafkaException

from bench import (
    feed_kills,
    feed_latency,
    feed_results,
    feed_table,
    feed_throughput,
    kafka_engine,
    machine,
    results,
    row_batches,
)
from bench.driver_loop import DriverLoop
from bench.feed_ground import FEED_DIRECTORY, FeedGround, FeedShard
from bench.feed_load import FeedLoad, fill
from bench.feed_results import FeedResult
from bench.feed_system import Aim, FeedFactory, FeedOrder, FeedSystem, Impossible
from bench.ground import delete_topics, make_topic, say
from bench.kafka_engine import KafkaEngine
from bench.measure import NothingArrives
from bench.modern_engine import ModernKafkaEngine
from bench.sluice_feed import SluiceFeed, without_intents
from deploy.lab.process import NotStarted

SYSTEMS: dict[str, FeedFactory] = {
    "kafka_engine": KafkaEngine,
    "kafka_engine_modern": ModernKafkaEngine,
    "driver_loop": DriverLoop,
    "sluice": SluiceFeed,
    "sluice_without_intents": without_intents,
}
TEN = tuple(f"kind{number}" for number in range(10))


@dataclass(frozen=True, slots=True)
class Case:
    """Case of the bench.

    Args:
        load: of a throughput case.
        aim: of the systems' settings.
        quorum: replicas that must have each block; 0: one server.
    """

    load: FeedLoad
    aim: Aim = "throughput"
    quorum: int = 0


CASES = {
    "json200": Case(FeedLoad("json200", 12_000_000, ("json200",))),
    "ten_tables": Case(FeedLoad("ten_tables", 8_000_000, TEN)),
    "quorum2": Case(FeedLoad("quorum2", 8_000_000, ("quorum2",)), quorum=2),
    "rowbatch50": Case(
        FeedLoad("rowbatch50", 12_000_000, ("rowbatch50",), "row_batches", row_batches.ROWS)
    ),
    "avro200": Case(FeedLoad("avro200", 12_000_000, ("avro200",), "avro")),
    "latency2000": Case(FeedLoad("latency2000", 0, ("latency2000",)), aim="latency", quorum=2),
    "kills": Case(FeedLoad("kills", 0, ("kills",)), aim="latency"),
}
RATED = ("json200", "ten_tables", "quorum2", "rowbatch50", "avro200")


@dataclass(frozen=True, slots=True)
class Size:
    """Amount of work for each kind of case."""

    load_share: float = 1.0
    seconds_max: float = 25.0
    latency_warm_seconds: float = 10.0
    latency_seconds: float = 60.0
    kills: int = 4
    kill_every_seconds: float = 20.0
    kill_rate: int = 20_000


QUICK = Size(
    load_share=0.1,
    seconds_max=10.0,
    latency_warm_seconds=5.0,
    latency_seconds=15.0,
    kills=2,
    kill_every_seconds=10.0,
    kill_rate=3000,
)

# Failures of one system; the others are measured all the same.
FAILURES = (NothingArrives, NotStarted, KafkaException, RuntimeError, Error, OSError, EOFError)

Measured = tuple[FeedResult, dict[str, Any]]


@click.command()
@click.option(
    "--case", "cases", multiple=True, type=click.Choice(list(CASES)), help="Default: all."
)
@click.option("--system", "systems", multiple=True, type=click.Choice(list(SYSTEMS)))
@click.option("--rounds", default=1, show_default=True, help="Of each throughput case.")
@click.option("--quick", is_flag=True, help="A tenth of the work: shows that all works.")
@click.option("--out", type=click.Path(path_type=Path), help="The JSON file to keep results in.")
def main(
    cases: Sequence[str], systems: Sequence[str], rounds: int, quick: bool, out: Path | None
) -> None:
    """Measures Sluice and its rivals; ends with status 1 where a system failed."""
    size = QUICK if quick else Size()
    chosen = tuple(systems) or tuple(SYSTEMS)
    # Partial and quick runs do not replace full results.
    is_whole = not quick and set(chosen) == set(SYSTEMS)
    file = out or (
        feed_results.FILE if is_whole else FEED_DIRECTORY.with_name("bench-feeds-part.json")
    )
    if (load := machine.load_average()) > 1.5:
        say(f"load average is {load:.1f}: other programs run, the figures will be worth little")
    failures: list[str] = []
    with FeedGround() as ground:
        for case in cases or CASES:
            began_with = round(machine.load_average(), 1)
            found, impossible = measure(ground, case, chosen, rounds, size, failures)
            keep(file, case, found, impossible, load_average=began_with, quick=quick)
    say(f"results are in {file}")
    for failure in failures:
        say(failure)
    sys.exit(1 if failures else 0)


def keep(
    file: Path,
    case: str,
    found: Mapping[str, Sequence[Measured]],
    impossible: Mapping[str, str],
    *,
    load_average: float,
    quick: bool,
) -> None:
    """Stores the results of a case, and how they were measured."""
    run = {
        "at": time.strftime("%Y-%m-%d %H:%M"),
        "load_average": load_average,
        "rounds": max(map(len, found.values()), default=0),
        "quick": quick,
        "impossible": dict(impossible),
        "details": [
            {"system": system, **details}
            for system, measured in found.items()
            for _, details in measured
        ],
    }
    kept = [
        feed_results.median([result for result, _ in measured])
        if measured
        else FeedResult(case=case, system=system)
        for system, measured in found.items()
    ]
    results.keep(file, case, kept, machine=described(), run=run)
    if file == feed_results.FILE:
        feed_table.main()


def described() -> dict[str, str | int | float]:
    """Returns the machine, with the versions of what loads."""
    found = machine.described()
    for package in ("clickhouse-driver", "polars", "orjson", "chdb-core"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def measure(
    ground: FeedGround,
    case: str,
    systems: Sequence[str],
    rounds: int,
    size: Size,
    failures: list[str],
) -> tuple[dict[str, list[Measured]], dict[str, str]]:
    """Runs all rounds of one case for each system.

    Returns what was measured, and why some systems cannot do the case. A failed system is noted;
    the others continue.
    """
    is_rated = case in RATED
    load = CASES[case].load
    if is_rated:
        load = load.of(int(load.rows * size.load_share))
        fill(ground.kafka, load)
    found: dict[str, list[Measured]] = {system: [] for system in systems}
    impossible: dict[str, str] = {}
    for number in range(rounds if is_rated else 1):
        for system in systems:
            if system in impossible or (system == "sluice_without_intents" and not is_rated):
                continue
            say(f"{case}, round {number + 1}: {system}")
            try:
                found[system].append(one(ground, case, system, load, size))
            except Impossible as error:
                say(f"  left out: {error}")
                impossible[system] = str(error)
            except FAILURES as error:
                what = str(error) or type(error).__name__
                say(f"  FAILED: {what}")
                failures.append(f"{case}, {system} failed: {what.splitlines()[0]}")
    if is_rated:
        delete_topics(ground.kafka, [load.topic])
    return found, impossible


def one(ground: FeedGround, case: str, system: str, load: FeedLoad, size: Size) -> Measured:
    """Measures one system once. Raises Impossible, or one of FAILURES."""
    named = CASES[case]
    is_rated = case in RATED
    if not is_rated:
        # Each system gets a topic of its own, with ids from 0. The topic names the table.
        topic = f"{load.topic}_{system}"
        load = replace(load, topic=topic, tables=(topic,))
    order = FeedOrder(load, named.aim)
    is_engine = system == "kafka_engine"
    profile = kafka_engine.profile(order, named.quorum) if is_engine else {}
    with ground.shard(quorum=named.quorum, profile=profile) as shard:
        loader = SYSTEMS[system](shard, order)
        if not is_rated:
            make_topic(ground.kafka, load.topic)
        try:
            loader.start()
            if is_rated:
                return _throughput(case, system, shard, loader, load, size)
            if named.quorum:
                return _latency(case, system, shard, loader, load, size)
            return _kills(case, system, shard, loader, load, size)
        finally:
            loader.stop()
            if not is_rated:
                delete_topics(ground.kafka, [load.topic])


def _throughput(
    case: str, system: str, shard: FeedShard, loader: FeedSystem, load: FeedLoad, size: Size
) -> Measured:
    window = feed_throughput.measured(shard, loader, load.rows, seconds_max=size.seconds_max)
    say(
        f"  {window.rows_per_second:,.0f} rows/s,"
        f" {window.cpu_seconds_per_million:.2f} CPU s per million"
        f" (servers {window.servers_cpu_seconds / window.rows * 1e6:.2f},"
        f" broker {window.brokers_cpu_seconds_per_million:.2f}),"
        f" {window.seconds:.1f} s, {window.peak_rss_mb:.0f} MB"
    )
    result = FeedResult(
        case=case,
        system=system,
        rows_per_second=window.rows_per_second,
        cpu_seconds_per_million=window.cpu_seconds_per_million,
        brokers_cpu_seconds_per_million=window.brokers_cpu_seconds_per_million,
        peak_rss_mb=window.peak_rss_mb,
    )
    return result, asdict(window)


def _latency(
    case: str, system: str, shard: FeedShard, loader: FeedSystem, load: FeedLoad, size: Size
) -> Measured:
    found = feed_latency.measured(
        shard,
        loader,
        load.topic,
        load.tables[0],
        warm_seconds=size.latency_warm_seconds,
        seconds=size.latency_seconds,
    )
    result = FeedResult(
        case=case,
        system=system,
        rows_per_second=found.window.rows_per_second,
        cpu_seconds_per_million=found.window.cpu_seconds_per_million,
        latency_ms={"p50": found.p50, "p99": found.p99},
        peak_rss_mb=found.window.peak_rss_mb,
    )
    return result, asdict(found)


def _kills(
    case: str, system: str, shard: FeedShard, loader: FeedSystem, load: FeedLoad, size: Size
) -> Measured:
    found = feed_kills.measured(
        shard,
        loader,
        load.topic,
        load.tables[0],
        kills=size.kills,
        records_per_second=size.kill_rate,
        every_seconds=size.kill_every_seconds,
    )
    result = FeedResult(
        case=case,
        system=system,
        peak_rss_mb=found.peak_rss_mb,
        duplicates=found.duplicates,
        lost=found.lost,
    )
    return result, asdict(found)


if __name__ == "__main__":
    main()
