"""Cases `ingest` and `freshness` of upsert tables: what it costs to keep one, and how soon a query
sees a record, each beside an append table of the same topic.

`bench.upsert` calls `run(["ingest", "freshness"], is_quick=...)`, which yields the rows as they are
measured: each the fields of an UpsertResult. By itself:

    .venv/bin/python -m bench.upsert_ingest [--case NAME] [--quick]    # rows as lines of JSON

One broker and one server of ClickHouse run beside Sluice on the
machine. CPU is that of Sluice's processes and of the server, without the broker's.

ingest, by the name of the query:
    catch-up      a full topic; each system's cost over its last part, when it has got warm
    10000/s       the paced load; freshness is how far claims were behind what was sent
    empty ticks   some records a second, so that each tick has few: what a tick costs by itself.
                  The records of this row are ticks, a million of them too
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, Thread
from typing import Any

import numpy as np
import numpy.typing as npt

from aggregator.upsert.query_mark import FRESH, SETTLED, At
from aggregator.upsert.reader import Reader
from bench.feed_ground import FEED_DIRECTORY, FeedGround, FeedShard
from bench.ground import PARTITIONS, make_topic, say
from bench.measure import START_SECONDS_MAX, NothingArrives
from bench.upsert_feed import APPEND, UPSERT, Meter, Spent, UpsertFeed
from bench.upsert_load import VERSIONS_PER_KEY, PacedBatches, UpsertLoad, fill
from deploy.lab.kafka import KafkaCluster
from replicator.runtime.store_errors import StoreUnreachable

DIRECTORY = FEED_DIRECTORY.with_name("bench-upsert-ingest")
CASES = ("ingest", "freshness")
SYSTEMS = {APPEND: "append", UPSERT: "sluice_fresh"}
SILENCE_SECONDS = 60.0
LOOK_SECONDS = 0.1
WARM_SHARE = 0.4
"""Part of a topic that is loaded before the cost is measured: the JVM is slow at first."""
MERGES_SECONDS_MAX = 15.0
SETTLED_SECONDS_MAX = 90.0
VISIBLE = "SELECT lane, max(number) FROM {table} WHERE number >= {low} GROUP BY lane"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Size of a run.

    Args:
        records: of the topic that is caught up with.
        rate, sustained_seconds: of the paced load.
        ticks: empty ones.
        fresh_rate, warm_seconds, fresh_seconds: of the load whose freshness is measured.
    """

    records: int = 2_000_000
    rate: int = 10_000
    sustained_seconds: int = 120
    ticks: int = 15
    fresh_rate: int = 2000
    warm_seconds: int = 25
    fresh_seconds: int = 30


QUICK = Sizes(
    records=320_000, sustained_seconds=10, ticks=5, warm_seconds=5, fresh_seconds=10, rate=4000
)

Row = dict[str, Any]


def run(cases: Collection[str], *, is_quick: bool = False) -> Iterator[Row]:
    """Yields the rows of the cases, as fields of bench/results/upsert.json.

    Raises NothingArrives, and what the lab's servers raise.
    """
    sizes = QUICK if is_quick else Sizes()
    with FeedGround(DIRECTORY) as ground:
        if "ingest" in cases:
            yield from ingest(ground, sizes)
        if "freshness" in cases:
            yield from freshness(ground, sizes)


def row(case: str, system: str, query: str, shard: FeedShard, **found: object) -> Row:
    """Returns a row of the results."""
    with shard.client() as client:
        version = str(client.execute("SELECT version()")[0][0])
    engine = f"clickhouse {'.'.join(version.split('.')[:2])}"
    names = {"case": case, "engine": engine, "system": system, "query": query}
    return {**names, "versions_per_key": VERSIONS_PER_KEY, **found}


@contextmanager
def running(feed: UpsertFeed) -> Iterator[Meter]:
    """Runs a daemon; yields the meter of its costs."""
    feed.start()
    try:
        yield Meter(feed)
    finally:
        feed.stop()


# -- ingest


def ingest(ground: FeedGround, sizes: Sizes) -> Iterator[Row]:
    """Yields the rows of the case `ingest`."""
    load = UpsertLoad(f"flights{ground.next_number()}", sizes.records)
    fill(ground.kafka, load)
    with ground.shard(quorum=0, profile={}) as shard:
        feed = UpsertFeed(shard, load.topic, [APPEND])
        with running(feed) as meter:
            append = caught_up(feed, APPEND, meter, sizes.records)
        yield cost_row(shard, "append", "catch-up", append, append, meter)
    with ground.shard(quorum=0, profile={}) as shard:
        feed = UpsertFeed(shard, load.topic, [UPSERT])
        with running(feed) as meter:
            upsert = caught_up(feed, UPSERT, meter, sizes.records)
            yield cost_row(shard, "sluice_fresh", "catch-up", upsert, append, meter)
            paced = replace(
                load,
                records=sizes.rate * sizes.sustained_seconds,
                batch_records=125,
                first=sizes.records // PARTITIONS,
            )
            kept, lags = sustained(feed, meter, paced, sizes.rate)
            lag = {"p50": percentile(lags, 50), "p99": percentile(lags, 99)}
            query = f"{sizes.rate}/s"
            yield cost_row(shard, "sluice_fresh", query, kept, append, meter) | {
                "freshness_seconds": lag
            }
            yield empty_ticks(feed, meter, paced, sizes.ticks)


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of some records, over a time in seconds."""

    records: int
    seconds: float
    spent: Spent

    @property
    def cpu_seconds_per_million(self) -> float:
        return (self.spent.sluice + self.spent.store) / self.records * 1e6


def cost_row(
    shard: FeedShard, system: str, query: str, cost: Cost, append: Cost | None, meter: Meter
) -> Row:
    """Returns a row with the cost of a system, beside that of the append table if it is given."""
    each = cost.cpu_seconds_per_million
    ratio = round(each / append.cpu_seconds_per_million, 3) if append else None
    parts = cost.spent
    say(
        f"  {system} {query}: {cost.records / cost.seconds:,.0f}/s, {each:.1f} CPU s per million: "
        f"driver {parts.driver:.1f}, JVM {parts.jvm:.1f}, workers {parts.workers:.1f}, "
        f"store {parts.store:.1f}; brokers {parts.brokers:.1f} CPU s; {ratio} x append"
    )
    return row(
        "ingest",
        system,
        query,
        shard,
        records_per_second=round(cost.records / cost.seconds, 1),
        cpu_seconds_per_million=round(each, 2),
        ratio_to_append=ratio,
        peak_rss_mb=round(meter.peak_rss_mb),
    )


def caught_up(feed: UpsertFeed, kind: str, meter: Meter, records: int) -> Cost:
    """Waits until a system has all records of a topic; returns the cost of the last ones, with
    that of the merges that they leave to the store.

    Raises NothingArrives.
    """
    marks = [(0, time.monotonic(), meter.read())]
    while marks[-1][0] < records:
        rows = feed.rows(kind)
        silent = time.monotonic() - marks[-1][1]
        if rows > marks[-1][0]:
            marks.append((rows, time.monotonic(), meter.read()))
            continue
        meter.look()
        if not feed.process.is_running():
            raise NothingArrives(str(feed.process.failure("has ended")))
        if silent > (SILENCE_SECONDS if marks[-1][0] else START_SECONDS_MAX):
            raise NothingArrives(str(feed.process.failure(f"has loaded {rows:,} rows only")))
        time.sleep(LOOK_SECONDS)
    begin = next(each for each in marks if each[0] >= records * WARM_SHARE)
    if begin[0] == records:
        begin = marks[-2]
    end, until = marks[-1], time.monotonic() + MERGES_SECONDS_MAX
    with feed.shard.client() as client:
        while (
            client.execute("SELECT count() FROM system.merges")[0][0] and time.monotonic() < until
        ):
            time.sleep(LOOK_SECONDS)
    return Cost(end[0] - begin[0], end[1] - begin[1], meter.read().since(begin[2]))


def sustained(
    feed: UpsertFeed, meter: Meter, load: UpsertLoad, rate: int
) -> tuple[Cost, list[float]]:
    """Sends a load at a pace; returns the cost of the records that were claimed meanwhile, and how
    many seconds of the load the claims were behind, time after time.

    Raises NothingArrives if the table falls behind for good.
    """
    sender = PacedBatches(feed.shard.ground.kafka, load, rate)
    before = feed.claimed()
    begin, began_at, lags = meter.read(), time.monotonic(), []
    sender.start()
    try:
        seconds = load.records / rate
        while time.monotonic() - began_at < seconds:
            time.sleep(LOOK_SECONDS)
            meter.look()
            claimed = feed.claimed()[0] - before[0]
            lags.append((sender.records - claimed) / rate)
        claimed, tick, _ = feed.claimed()
        end, took = meter.read(), time.monotonic() - began_at
    finally:
        sender.stop()
    wait_claimed(feed, before[0] + sender.records)
    ticks = tick - before[1]
    say(f"  {ticks} ticks in {took:.0f} s, claims behind by {max(lags):.1f} s at most")
    return Cost(claimed - before[0], took, end.since(begin)), lags


def wait_claimed(feed: UpsertFeed, rows: int) -> None:
    """Waits until so many rows are claimed. Raises NothingArrives."""
    until = time.monotonic() + SILENCE_SECONDS
    while feed.claimed()[0] < rows:
        if time.monotonic() > until:
            raise NothingArrives(str(feed.process.failure("does not claim what was sent")))
        time.sleep(LOOK_SECONDS)


def empty_ticks(feed: UpsertFeed, meter: Meter, load: UpsertLoad, ticks: int) -> Row:
    """Returns the row of ticks by themselves: its records are ticks."""
    first = load.first + load.records // PARTITIONS
    # A round a second has a record of each partition, and is one tick.
    single = replace(load, records=ticks * PARTITIONS, batch_records=1, first=first)
    before, begin, began_at = feed.claimed(), meter.read(), time.monotonic()
    sender = PacedBatches(feed.shard.ground.kafka, single, PARTITIONS)
    sender.start()
    try:
        while sender.records < single.records:
            time.sleep(LOOK_SECONDS)
    finally:
        sender.stop()
    wait_claimed(feed, before[0] + single.records)
    spent, took = meter.read().since(begin), time.monotonic() - began_at
    count = feed.claimed()[1] - before[1]
    say(f"  a tick by itself: {(spent.sluice + spent.store) / count:.2f} CPU s, {count} ticks")
    return cost_row(
        feed.shard, "sluice_fresh", "empty ticks", Cost(count, took, spent), None, meter
    )


# -- freshness


def freshness(ground: FeedGround, sizes: Sizes) -> Iterator[Row]:
    """Yields the rows of the case `freshness`: both tables load the same topic in one daemon."""
    rounds_per_second = 10
    load = UpsertLoad(
        f"flights{ground.next_number()}",
        sizes.fresh_rate * (sizes.warm_seconds + sizes.fresh_seconds),
        distance=1000,
        batch_records=sizes.fresh_rate // rounds_per_second // PARTITIONS,
    )
    make_topic(ground.kafka, load.topic)
    with ground.shard(quorum=0, profile={}) as shard:
        feed = UpsertFeed(shard, load.topic, [APPEND, UPSERT])
        with running(feed) as meter:
            wait_first(feed, ground.kafka, load)
            sender = PacedBatches(ground.kafka, replace(load, first=1), sizes.fresh_rate)
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
            first = sizes.warm_seconds * rounds_per_second
            for name, view in views.items():
                waits = view.waits(np.array(sender.sent_at), first)
                found = {"p50": percentile(waits, 50), "p99": percentile(waits, 99)}
                say(f"  {name}: {found}")
                yield row(
                    "freshness",
                    name,
                    f"{sizes.fresh_rate}/s",
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


class View:
    """Reader of one table in a thread of its own, which notes when it saw each batch first.

    Args:
        look: returns the largest number of each partition that a query sees, from a number on.
    """

    def __init__(
        self, load: UpsertLoad, look: Callable[[int], dict[int, int]], pause_seconds: float
    ) -> None:
        self._load, self._look, self._pause_seconds = load, look, pause_seconds
        self._seen = np.zeros(PARTITIONS, np.int64)
        self._seen_at = np.zeros((PARTITIONS, load.rounds))
        self._over = Event()
        self._thread = Thread(target=self._run, daemon=True)
        self._error: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends. Raises what ended it before."""
        self._over.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    @property
    def is_behind(self) -> bool:
        """True until all batches were seen."""
        return self._error is None and int(self._seen.min()) < self._load.rounds

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

    def _run(self) -> None:
        try:
            while not self._over.is_set() and self.is_behind:
                low = int(self._seen.min()) * self._load.batch_records * PARTITIONS
                largest, now = self._look(low), time.perf_counter()
                for lane, number in largest.items():
                    # Its place says how many were sent before it, that of wait_first() among them.
                    rounds = number // PARTITIONS // self._load.batch_records
                    self._seen_at[lane, self._seen[lane] : rounds] = now
                    self._seen[lane] = max(rounds, self._seen[lane])
                self._over.wait(self._pause_seconds)
        except BaseException as error:
            self._error = error


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


def percentile(values: list[float], percent: int) -> float:
    """Returns a percentile of some seconds."""
    return round(float(np.percentile(values, percent)), 3)


def main() -> None:
    """Runs the cases that are named, all by default; prints the rows, a line of JSON each."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--case", action="append", choices=CASES)
    asked.add_argument("--quick", action="store_true")
    given = asked.parse_args()
    for each in run(given.case or CASES, is_quick=given.quick):
        print(json.dumps(each), flush=True)


if __name__ == "__main__":
    main()
