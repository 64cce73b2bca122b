"""Loading topics into ClickHouse: Sluice, the Kafka engine and a loop of drivers on the same work.

python -m bench.feeds [--case json200 ...] [--system sluice ...] [--rounds 1] [--quick] [--out FILE]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from clickhouse_driver.errors import Error

from bench import (
    feed_kills,
    feed_latency,
    feed_table,
    feed_throughput,
    kafka_engine,
    results,
    row_batches,
)
from bench.driver_loop import DriverLoop
from bench.feed_ground import FEED_DIRECTORY, FeedGround, FeedShard
from bench.feed_load import FeedLoad, fill
from bench.feed_system import Aim, FeedFactory, FeedOrder, FeedSystem
from bench.ground import delete_topics, make_topic, say
from bench.kafka_engine import KafkaEngine
from bench.modern_engine import ModernKafkaEngine
from bench.results import FeedResult
from bench.side_by_side import Bench, Measured, program
from bench.sluice_feed import SluiceFeed, without_intents

BARE = "sluice_without_intents"
SYSTEMS: dict[str, FeedFactory] = {
    "kafka_engine": KafkaEngine,
    "kafka_engine_modern": ModernKafkaEngine,
    "driver_loop": DriverLoop,
    "sluice": SluiceFeed,
    BARE: without_intents,
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


class FeedBench(Bench[FeedGround]):
    """Measures Sluice and its rivals; ends with status 1 where a system failed."""

    systems = tuple(SYSTEMS)
    cases = tuple(CASES)
    full = cases
    result = FeedResult
    file = results.FEED_FILE
    directory = FEED_DIRECTORY
    packages = ("clickhouse-driver", "polars", "orjson", "chdb-core")
    failures = (*Bench.failures, Error)

    def __init__(self, *, is_quick: bool) -> None:
        super().__init__(is_quick=is_quick)
        self._size = QUICK if is_quick else Size()

    def ground(self) -> FeedGround:
        return FeedGround()

    def is_rated(self, case: str) -> bool:
        return case in RATED

    def rounds_of(self, case: str, system: str, rounds: int) -> Sequence[int]:
        return range(rounds) if system != BARE or self.is_rated(case) else ()

    def prepare(self, ground: FeedGround, case: str) -> None:
        fill(ground.kafka, self._load(case))

    def clear(self, ground: FeedGround, case: str) -> None:
        delete_topics(ground.kafka, [self._load(case).topic])

    def measured(self, ground: FeedGround, case: str, system: str) -> Measured:
        named, load = CASES[case], self._load(case)
        is_rated = self.is_rated(case)
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
                    return _throughput(case, system, shard, loader, load, self._size)
                if named.quorum:
                    return _latency(case, system, shard, loader, load, self._size)
                return _kills(case, system, shard, loader, load, self._size)
            finally:
                loader.stop()
                if not is_rated:
                    delete_topics(ground.kafka, [load.topic])

    def write_tables(self) -> None:
        feed_table.TABLES.write()

    def _load(self, case: str) -> FeedLoad:
        load = CASES[case].load
        if not self.is_rated(case):
            return load
        return load.of(int(load.rows * self._size.load_share))


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
    program(FeedBench, rounds=1, quick_part="A tenth")()
