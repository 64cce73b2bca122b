"""Writing topics into objects: Sluice, Spark's and Flink's file sinks and a loop on the same work.

python -m bench.object_feeds [--case lines200 ...] [--system sluice ...] [--rounds 3] [--quick]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
from confluent_kafka import KafkaException

from bench import (
    machine,
    object_check,
    object_kills,
    object_results,
    object_table,
    object_throughput,
    object_visible,
    results,
)
from bench.feed_load import FeedLoad, fill
from bench.flights import KIND
from bench.flink_sink import FlinkSink
from bench.ground import delete_topics, make_topic, say
from bench.measure import NothingArrives
from bench.object_ground import OBJECT_DIRECTORY, Bucket, ObjectGround
from bench.object_results import ObjectResult
from bench.object_system import Impossible, ObjectFactory, ObjectOrder, ObjectSystem
from bench.put_loop import PutLoop
from bench.sluice_objects import SluiceObjects, without_intents
from bench.spark_sink import SparkSink
from deploy.lab.process import NotStarted

BARE = "sluice_without_intents"
SYSTEMS: dict[str, ObjectFactory] = {
    "spark": SparkSink,
    "flink": FlinkSink,
    "put_loop": PutLoop,
    "sluice": SluiceObjects,
    BARE: without_intents,
}
FIFTY = tuple(f"kind{number}" for number in range(50))

CLOSED_SECONDS = 5.0
"""Age of objects in the cases of throughput: short, so that a window has several bursts of them."""
RATED = {
    "lines200": ObjectOrder(
        FeedLoad("lines200", 12_000_000, ("lines200",)), "lines", close_seconds=CLOSED_SECONDS
    ),
    "parquet200": ObjectOrder(
        FeedLoad("parquet200", 12_000_000, ("parquet200",)),
        "parquet",
        close_seconds=CLOSED_SECONDS,
    ),
    "interleaved50": ObjectOrder(
        FeedLoad("interleaved50", 8_000_000, FIFTY),
        "lines",
        field=KIND,
        object_records=5000,
        close_seconds=120.0,
    ),
    "avro_to_avro": ObjectOrder(
        FeedLoad("avro_to_avro", 8_000_000, ("avro_to_avro",), "bookings"),
        "avro",
        close_seconds=CLOSED_SECONDS,
    ),
    "avro_to_parquet": ObjectOrder(
        FeedLoad("avro_to_parquet", 8_000_000, ("avro_to_parquet",), "bookings", hours=3),
        "parquet",
        is_hourly=True,
        close_seconds=CLOSED_SECONDS,
    ),
    "json_lines200": ObjectOrder(
        FeedLoad("json_lines200", 12_000_000, ("json_lines200",)),
        "json_lines",
        close_seconds=CLOSED_SECONDS,
    ),
}
"""Cases in which a full topic is written, each by its order."""
PACED = {
    "visible2000": ObjectOrder(FeedLoad("visible2000", 0, ()), "lines", is_paced=True),
    "kills": ObjectOrder(FeedLoad("kills", 0, ()), "lines", is_paced=True),
}
"""Cases in which a topic is written meanwhile."""
CASES = (*RATED, *PACED)
FULL = tuple(case for case in CASES if case != "json_lines200")
"""Cases of a full run."""
BARE_CASES = ("lines200", "parquet200")
"""Cases of BARE."""


@dataclass(frozen=True, slots=True)
class Size:
    """Amount of work for each kind of case."""

    load_share: float = 1.0
    close_share: float = 1.0
    warm_seconds: float = 20.0
    visible_seconds: float = 60.0
    kills: int = 4
    kill_every_seconds: float = 25.0
    kill_rate: int = 20_000


QUICK = Size(
    load_share=0.1,
    close_share=0.3,
    warm_seconds=5.0,
    visible_seconds=15.0,
    kills=2,
    kill_every_seconds=10.0,
    kill_rate=3000,
)

# Failures of one system; the others are measured all the same.
FAILURES = (NothingArrives, NotStarted, KafkaException, RuntimeError, OSError)

Measured = tuple[ObjectResult, dict[str, Any]]


@click.command()
@click.option(
    "--case", "cases", multiple=True, type=click.Choice(CASES), help="Default: a full run."
)
@click.option("--system", "systems", multiple=True, type=click.Choice(list(SYSTEMS)))
@click.option("--rounds", default=3, show_default=True, help="Of each throughput case.")
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
        object_results.FILE if is_whole else OBJECT_DIRECTORY.with_name("bench-objects-part.json")
    )
    if (load := machine.load_average()) > 1.5:
        say(f"load average is {load:.1f}: other programs run, the figures will be worth little")
    failures: list[str] = []
    with ObjectGround() as ground:
        for case in cases or FULL:
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
        object_results.median([result for result, _ in measured])
        if measured
        else ObjectResult(case=case, system=system)
        for system, measured in found.items()
    ]
    results.keep(file, case, kept, machine=described(), run=run)
    if file == object_results.FILE:
        object_table.main()


def described() -> dict[str, str | int | float]:
    """Returns the machine, with the versions of what writes."""
    found = machine.described()
    for package in ("pyarrow", "boto3", "confluent-kafka"):
        found[package] = version(package)
    return found


def measure(
    ground: ObjectGround,
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
    order = RATED[case] if is_rated else PACED[case]
    order = order.smaller(size.load_share, size.close_share)
    if is_rated:
        fill(ground.kafka, order.load)
    if case not in BARE_CASES:
        systems = [system for system in systems if system != BARE]
    found: dict[str, list[Measured]] = {system: [] for system in systems}
    impossible: dict[str, str] = {}
    for number in range(rounds if is_rated else 1):
        for system in systems:
            if system in impossible:
                continue
            say(f"{case}, round {number + 1}: {system}")
            try:
                found[system].append(one(ground, case, system, order, size))
            except Impossible as error:
                say(f"  left out: {error}")
                impossible[system] = str(error)
            except FAILURES as error:
                what = str(error) or type(error).__name__
                say(f"  FAILED: {what}")
                failures.append(f"{case}, {system} failed: {what.splitlines()[0]}")
    if is_rated:
        delete_topics(ground.kafka, [order.load.topic])
    return found, impossible


def one(ground: ObjectGround, case: str, system: str, order: ObjectOrder, size: Size) -> Measured:
    """Measures one system once. Raises Impossible, or one of FAILURES."""
    if order.is_paced:
        # Each system gets a topic of its own, with ids from 0.
        topic = f"{case}_{system}"
        order = replace(order, load=replace(order.load, topic=topic))
        make_topic(ground.kafka, topic)
    with ground.bucket() as bucket:
        writer = SYSTEMS[system](bucket, order)
        try:
            writer.start()
            if not order.is_paced:
                return _throughput(case, system, bucket, writer, order)
            act = _kills if case == "kills" else _visible
            return act(case, system, bucket, writer, order, size)
        finally:
            writer.stop()
            if order.is_paced:
                delete_topics(ground.kafka, [order.load.topic])


def _throughput(
    case: str, system: str, bucket: Bucket, writer: ObjectSystem, order: ObjectOrder
) -> Measured:
    window, found = object_throughput.measured(bucket, writer, order)
    result = ObjectResult(
        case=case,
        system=system,
        objects=found.objects,
        objects_least=found.objects_least,
        requests_per_object=found.requests / found.objects,
    )
    if window:
        result = replace(
            result,
            records_per_second=window.records_per_second,
            cpu_seconds_per_million=window.per_million(window.cpu_seconds),
            store_cpu_seconds_per_million=window.per_million(window.store_cpu_seconds),
            peak_rss_mb=window.peak_rss_mb,
        )
        say(
            f"  {result.records_per_second:,.0f} records/s,"
            f" {result.cpu_seconds_per_million:.2f} CPU s per million"
            f" (store {result.store_cpu_seconds_per_million:.2f},"
            f" broker {window.per_million(window.brokers_cpu_seconds):.2f}),"
            f" {window.seconds:.1f} s, {window.peak_rss_mb:.0f} MB"
        )
    say(
        f"  {found.objects} objects of at least {found.objects_least},"
        f" {result.requests_per_object:.1f} requests each"
    )
    if order.has_schema:
        # Nothing is written while the objects are read.
        writer.stop()
        checked = object_check.checked(bucket, order)
        result = replace(result, duplicates=checked.duplicates, lost=checked.lost)
    return result, (asdict(window) if window else {}) | asdict(found)


def _visible(
    case: str,
    system: str,
    bucket: Bucket,
    writer: ObjectSystem,
    order: ObjectOrder,
    size: Size,
) -> Measured:
    found = object_visible.measured(
        bucket, writer, order, warm_seconds=size.warm_seconds, seconds=size.visible_seconds
    )
    window = found.window
    result = ObjectResult(
        case=case,
        system=system,
        records_per_second=window.records_per_second,
        cpu_seconds_per_million=window.per_million(window.cpu_seconds),
        store_cpu_seconds_per_million=window.per_million(window.store_cpu_seconds),
        peak_rss_mb=window.peak_rss_mb,
        visible_seconds={"p50": found.p50, "p99": found.p99},
    )
    return result, asdict(found)


def _kills(
    case: str,
    system: str,
    bucket: Bucket,
    writer: ObjectSystem,
    order: ObjectOrder,
    size: Size,
) -> Measured:
    found = object_kills.measured(
        bucket,
        writer,
        order,
        kills=size.kills,
        records_per_second=size.kill_rate,
        every_seconds=size.kill_every_seconds,
    )
    result = ObjectResult(
        case=case,
        system=system,
        peak_rss_mb=found.peak_rss_mb,
        objects=found.objects,
        duplicates=found.duplicates,
        lost=found.lost,
    )
    return result, asdict(found)


if __name__ == "__main__":
    main()
