"""Writing topics into objects: Sluice, Spark's and Flink's file sinks and a loop on the same work.

python -m bench.object_feeds [--case lines200 ...] [--system sluice ...] [--rounds 3] [--quick]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from bench import (
    object_check,
    object_kills,
    object_table,
    object_throughput,
    object_visible,
    results,
)
from bench.feed_load import FeedLoad, fill
from bench.flights import KIND
from bench.flink_sink import FlinkSink
from bench.ground import delete_topics, make_topic, say
from bench.object_ground import OBJECT_DIRECTORY, Bucket, ObjectGround
from bench.object_system import ObjectFactory, ObjectOrder, ObjectSystem
from bench.put_loop import PutLoop
from bench.results import ObjectResult
from bench.side_by_side import Bench, Measured, program
from bench.sluice_objects import SluiceObjects, without_intents
from bench.spark_sink import SparkSink

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


class ObjectBench(Bench[ObjectGround]):
    """Measures Sluice and its rivals; ends with status 1 where a system failed."""

    systems = tuple(SYSTEMS)
    cases = CASES
    full = FULL
    result = ObjectResult
    file = results.OBJECT_FILE
    directory = OBJECT_DIRECTORY
    packages = ("pyarrow", "boto3", "confluent-kafka")

    def __init__(self, *, is_quick: bool) -> None:
        super().__init__(is_quick=is_quick)
        self._size = QUICK if is_quick else Size()

    def ground(self) -> ObjectGround:
        return ObjectGround()

    def is_rated(self, case: str) -> bool:
        return case in RATED

    def rounds_of(self, case: str, system: str, rounds: int) -> Sequence[int]:
        return range(rounds) if system != BARE or case in BARE_CASES else ()

    def prepare(self, ground: ObjectGround, case: str) -> None:
        fill(ground.kafka, self._order(case).load)

    def clear(self, ground: ObjectGround, case: str) -> None:
        delete_topics(ground.kafka, [self._order(case).load.topic])

    def measured(self, ground: ObjectGround, case: str, system: str) -> Measured:
        order = self._order(case)
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
                return act(case, system, bucket, writer, order, self._size)
            finally:
                writer.stop()
                if order.is_paced:
                    delete_topics(ground.kafka, [order.load.topic])

    def write_tables(self) -> None:
        object_table.TABLES.write()

    def _order(self, case: str) -> ObjectOrder:
        order = RATED[case] if case in RATED else PACED[case]
        return order.smaller(self._size.load_share, self._size.close_share)


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
    program(ObjectBench, rounds=3, quick_part="A tenth")()
