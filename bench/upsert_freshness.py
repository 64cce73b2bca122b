"""Case `freshness` of upsert tables: how soon a query sees a record, beside an append table of the
same topic. bench.upsert_ingest runs it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from aggregator.upsert.query_mark import FRESH, SETTLED, At
from aggregator.upsert.reader import Reader
from bench.background import Background
from bench.feed_ground import FeedGround, FeedShard
from bench.ground import PARTITIONS, make_topic, say
from bench.measure import START_SECONDS_MAX, NothingArrives
from bench.upsert_feed import APPEND, UPSERT, Row, UpsertFeed, percentile, row, running
from bench.upsert_load import PacedBatches, UpsertLoad
from deploy.lab.kafka import KafkaCluster
from replicator.runtime.store_errors import StoreUnreachable

LOOK_SECONDS = 0.1
ROUNDS_PER_SECOND = 10
SETTLED_SECONDS_MAX = 90.0
VISIBLE = "SELECT lane, max(number) FROM {table} WHERE number >= {low} GROUP BY lane"


def freshness(ground: FeedGround, *, rate: int, warm_seconds: int, seconds: int) -> Iterator[Row]:
    """Yields the rows of the case `freshness`: both tables load the same topic in one daemon.

    Args:
        rate: records per second.
        warm_seconds: of the load, before the seconds that count.
    """
    load = UpsertLoad(
        f"flights{ground.next_number()}",
        rate * (warm_seconds + seconds),
        distance=1000,
        batch_records=rate // ROUNDS_PER_SECOND // PARTITIONS,
    )
    make_topic(ground.kafka, load.topic)
    with ground.shard(quorum=0, profile={}) as shard:
        feed = UpsertFeed(shard, load.topic, [APPEND, UPSERT])
        with running(feed) as meter:
            wait_first(feed, ground.kafka, load)
            sender = PacedBatches(ground.kafka, replace(load, first=1), rate)
            reader, table = feed.reader(), feed.upsert_table
            views = {
                "append": View(load, lambda low: appended(shard, load.topic, low), LOOK_SECONDS),
                "sluice_fresh": View(
                    load, lambda low: read(reader, table, low, FRESH), LOOK_SECONDS
                ),
                "sluice_settled": View(load, lambda low: read(reader, table, low, SETTLED), 0.5),
            }
            sender.start()
            try:
                for view in views.values():
                    view.start()
                while sender.records < load.records:
                    time.sleep(LOOK_SECONDS)
                    meter.look()
            finally:
                sender.stop()
            until = time.monotonic() + SETTLED_SECONDS_MAX
            while any(view.is_behind for view in views.values()) and time.monotonic() < until:
                time.sleep(LOOK_SECONDS)
            for view in views.values():
                view.stop()
            first = warm_seconds * ROUNDS_PER_SECOND
            for name, view in views.items():
                waits = view.waits(np.array(sender.sent_at), first)
                found = {"p50": percentile(waits, 50), "p99": percentile(waits, 99)}
                say(f"  {name}: {found}")
                yield row(
                    "freshness",
                    name,
                    f"{rate}/s",
                    shard,
                    freshness_seconds=found,
                    peak_rss_mb=round(meter.peak_rss_mb),
                )


def wait_first(feed: UpsertFeed, kafka: KafkaCluster, load: UpsertLoad) -> None:
    """Sends a record to each partition, and waits until both tables and a settle point have them.

    Raises NothingArrives.
    """
    sender = PacedBatches(kafka, replace(load, records=PARTITIONS, batch_records=1), PARTITIONS)
    sender.start()
    until = time.monotonic() + START_SECONDS_MAX
    try:
        while feed.rows(APPEND) < PARTITIONS or feed.rows(UPSERT) < PARTITIONS:
            if time.monotonic() > until or not feed.process.is_running():
                raise NothingArrives(str(feed.process.failure("loads nothing")))
            time.sleep(LOOK_SECONDS)
    finally:
        sender.stop()


class View(Background):
    """Reader of one table in a thread of its own, which notes when it saw each batch first.

    Args:
        look: returns the largest number of each partition that a query sees, from a number on.
    """

    def __init__(
        self, load: UpsertLoad, look: Callable[[int], dict[int, int]], pause_seconds: float
    ) -> None:
        super().__init__()
        self._load, self._look, self._pause_seconds = load, look, pause_seconds
        self._seen = np.zeros(PARTITIONS, np.int64)
        self._seen_at = np.zeros((PARTITIONS, load.rounds))

    @property
    def is_behind(self) -> bool:
        """True until all batches were seen."""
        return self.error is None and int(self._seen.min()) < self._load.rounds

    def waits(self, sent_at: npt.NDArray[np.float64], first: int) -> list[float]:
        """Returns the seconds between sending and seeing of each batch.

        Args:
            first: round from which on they count.

        Raises NothingArrives if a batch was never seen.
        """
        if self.is_behind:
            raise NothingArrives(f"a query sees {self._seen} of {self._load.rounds} batches")
        waits: list[float] = (self._seen_at - sent_at)[:, first:].ravel().tolist()
        return waits

    def work(self) -> None:
        while not self.over.is_set() and self.is_behind:
            low = int(self._seen.min()) * self._load.batch_records * PARTITIONS
            largest, now = self._look(low), time.perf_counter()
            for lane, number in largest.items():
                # Its place says how many were sent before it, that of wait_first() among them.
                rounds = number // PARTITIONS // self._load.batch_records
                self._seen_at[lane, self._seen[lane] : rounds] = now
                self._seen[lane] = max(rounds, self._seen[lane])
            self.over.wait(self._pause_seconds)


def appended(shard: FeedShard, table: str, low: int) -> dict[int, int]:
    """Returns the largest number of each partition in an append table."""
    with shard.client() as client:
        return dict(client.execute(VISIBLE.format(table=table, low=low)))


def read(reader: Reader, table: str, low: int, at: At) -> dict[int, int]:
    """Returns the largest number of each partition that a query of an upsert table sees."""
    try:
        with reader.query(VISIBLE.format(table=table, low=low), at) as answer:
            return dict(answer)
    except StoreUnreachable as error:
        if at.is_settled and "no settle point" in str(error):
            return {}
        raise
