"""Latency from produce() to the first quorum read that shows the row.

The topic gets 2 000 documents a second. A reader asks one replica for new rows again and again,
with select_sequential_consistency. One process stamps both ends with one clock.
"""

from __future__ import annotations

import time
from array import array
from dataclasses import dataclass

import numpy as np
from clickhouse_driver import Client
from clickhouse_driver.errors import ServerException

from bench.feed_ground import FeedShard
from bench.feed_producer import PacedProducer
from bench.feed_system import FeedSystem
from bench.feed_throughput import Cost, FeedWindow
from bench.ground import say
from bench.measure import START_SECONDS_MAX, NothingArrives

RECORDS_PER_SECOND = 2000
READ_SECONDS = 0.02
STRAGGLER_SECONDS_MAX = 30.0
LACKS_LAST_BLOCK = 289


@dataclass(frozen=True, slots=True)
class FeedLatency:
    """Latency in milliseconds, and the cost in the same window."""

    p50: float
    p99: float
    worst: float
    window: FeedWindow


def measured(
    shard: FeedShard,
    system: FeedSystem,
    topic: str,
    table: str,
    *,
    warm_seconds: float,
    seconds: float,
) -> FeedLatency:
    """Measures a started system. Raises NothingArrives if a record is never read."""
    producer = PacedProducer(shard.ground.kafka, topic, RECORDS_PER_SECOND)
    producer.start()
    try:
        with shard.client(
            settings={"use_numpy": True, "select_sequential_consistency": 1}
        ) as client:
            return _probe(shard, system, producer, _Reader(client, table), warm_seconds, seconds)
    finally:
        producer.stop()


def _probe(
    shard: FeedShard,
    system: FeedSystem,
    producer: PacedProducer,
    reader: _Reader,
    warm_seconds: float,
    seconds: float,
) -> FeedLatency:
    give_up_at = time.monotonic() + START_SECONDS_MAX
    while not reader.read():
        if time.monotonic() > give_up_at:
            process = system.process
            text = f"loads nothing in {START_SECONDS_MAX:.0f} s"
            raise NothingArrives(str(process.failure(text)) if process else f"the server {text}")
        time.sleep(READ_SECONDS)
    reader.read_for(warm_seconds)
    cost = Cost(shard, system)
    begin, began_at, first = cost.read(producer.sent), time.perf_counter(), producer.sent
    while time.perf_counter() - began_at < seconds:
        reader.read_for(0.5)
        cost.look()
    last = producer.sent
    window = cost.since(begin, cost.read(last))
    give_up_at = time.monotonic() + STRAGGLER_SECONDS_MAX
    while reader.low < last and time.monotonic() < give_up_at:
        reader.read_for(0.2)
    return _judged(producer, reader, first, last, window)


def _judged(
    producer: PacedProducer, reader: _Reader, first: int, last: int, window: FeedWindow
) -> FeedLatency:
    if reader.low < last:
        raise NothingArrives(f"row {reader.low} of {last} was never read")
    produced = np.array(producer.produced_at[first:last])
    taken_ms = (np.array(reader.seen_at[first:last]) - produced) * 1000
    p50, p99 = np.percentile(taken_ms, (50, 99)).tolist()
    found = FeedLatency(p50, p99, float(taken_ms.max()), window)
    say(f"  p50 {p50:.0f} ms, p99 {p99:.0f} ms, worst {found.worst:.0f} ms")
    return found


class _Reader:
    """Reads new rows, and notes when each id was seen first."""

    def __init__(self, client: Client, table: str) -> None:
        self.low = 0
        """All ids below it were seen."""
        self.seen_at = array("d")
        """Time at which each id was seen first; 0: not yet."""
        self._client, self._table = client, table

    def read(self) -> bool:
        """Reads once; returns True once there are rows."""
        try:
            found = self._client.execute(
                f"SELECT id FROM {self._table} WHERE id >= {self.low}", columnar=True
            )
        except ServerException as error:
            if error.code == LACKS_LAST_BLOCK:
                return False
            raise
        now = time.perf_counter()
        if not found:
            return self.low > 0
        ids = np.asarray(found[0], np.int64)
        if (lack := int(ids.max()) + 1 - len(self.seen_at)) > 0:
            self.seen_at.extend([0.0] * lack)
        seen = np.frombuffer(self.seen_at, np.float64)
        new = ids[seen[ids] == 0]
        seen[new] = now
        missing = np.flatnonzero(seen[self.low :] == 0)
        self.low += int(missing[0]) if len(missing) else len(seen) - self.low
        # A view of an array keeps it from growing.
        del seen
        return True

    def read_for(self, seconds: float) -> None:
        give_up_at = time.monotonic() + seconds
        while time.monotonic() < give_up_at:
            self.read()
            time.sleep(READ_SECONDS)
