"""Kills of the feed cases: kill -9 of the system and of the ClickHouse server in turn, under load.

Each kill waits until rows arrive again after the former one. At the end the ids in the table are
counted: each record has its own. The Kafka engine lives in the server, so all its kills are alike.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from clickhouse_driver.errors import Error

from bench.feed_ground import FeedShard
from bench.feed_producer import PacedProducer
from bench.feed_system import FeedSystem
from bench.feed_throughput import Cost
from bench.ground import say
from bench.measure import START_SECONDS_MAX, NothingArrives

AT_WORK_SECONDS = 4.0
CATCH_UP_SECONDS_MAX = 120.0
QUIET_SECONDS = 12.0
"""Time without new rows after which the table counts as final."""
LINGER_MS = 20.0


@dataclass(frozen=True, slots=True)
class FeedCounted:
    """Counts after the last kill."""

    sent: int
    kills: int
    duplicates: int
    lost: int
    peak_rss_mb: float


def measured(
    shard: FeedShard,
    system: FeedSystem,
    topic: str,
    table: str,
    *,
    kills: int,
    records_per_second: int,
    every_seconds: float,
) -> FeedCounted:
    """Measures a started system. Raises NothingArrives if it does not load again after a kill."""
    producer = PacedProducer(shard.ground.kafka, topic, records_per_second, linger_ms=LINGER_MS)
    producer.start()
    try:
        peak_rss_mb = _under_fire(shard, system, kills, every_seconds)
    finally:
        producer.stop()
    _catch_up(system, producer.sent)
    with shard.client() as client:
        rows, ids = client.execute(
            f"SELECT count(), uniqExact(id) FROM {table} WHERE id < {producer.sent}"
        )[0]
    found = FeedCounted(producer.sent, kills, rows - ids, producer.sent - ids, peak_rss_mb)
    say(
        f"  {found.sent:,} records, {kills} kills: {found.duplicates:,} duplicates,"
        f" {found.lost:,} lost"
    )
    return found


def _under_fire(shard: FeedShard, system: FeedSystem, kills: int, every_seconds: float) -> float:
    """Kills repeatedly. Returns the peak memory in MB."""
    peak_rss_mb, killed_at, there = 0.0, time.monotonic(), 0
    for number in range(1, kills + 1):
        _wait_for_more(system, there)
        cost = Cost(shard, system)
        kill_at = max(killed_at + every_seconds, time.monotonic() + AT_WORK_SECONDS)
        while time.monotonic() < kill_at:
            cost.look()
            time.sleep(0.5)
        peak_rss_mb = max(peak_rss_mb, cost.peak_rss_mb)
        there = system.rows()
        say(f"  kill {number} of {kills}; {there:,} rows")
        killed_at = time.monotonic()
        if number % 2 or system.process is None:
            system.kill()
            system.start()
        else:
            shard.servers[0].kill()
            shard.servers[0].start()
            shard.servers[0].wait_ready()
    _wait_for_more(system, there)
    return peak_rss_mb


def _wait_for_more(system: FeedSystem, there: int) -> None:
    """Waits for new rows: a kill of a system that loads nothing proves nothing."""
    give_up_at = time.monotonic() + START_SECONDS_MAX
    while rows_or(system, 0) <= there:
        if time.monotonic() > give_up_at:
            raise NothingArrives(f"no rows in {START_SECONDS_MAX:.0f} s after {there:,}")
        time.sleep(0.2)


def rows_or(system: FeedSystem, otherwise: int) -> int:
    """Returns the number of rows, or another number while the server does not answer."""
    try:
        return system.rows()
    except (Error, OSError, EOFError):
        return otherwise


def _catch_up(system: FeedSystem, sent: int) -> None:
    """Waits until all rows have arrived and no more come."""
    rows, moved_at = 0, time.monotonic()
    give_up_at = moved_at + CATCH_UP_SECONDS_MAX
    while time.monotonic() < give_up_at:
        time.sleep(0.5)
        now_there = rows_or(system, rows)
        if now_there != rows:
            rows, moved_at = now_there, time.monotonic()
        if rows >= sent and time.monotonic() - moved_at > QUIET_SECONDS:
            return
    say(f"  not caught up after {CATCH_UP_SECONDS_MAX:.0f} s: {rows:,} of {sent:,}")
