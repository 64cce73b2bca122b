"""Case `ingest` of upsert tables: what it costs to keep one, beside an append table of the same
topic. With case `freshness` (upsert_freshness.py), on the same servers:

    .venv/bin/python -m bench.upsert_ingest [--case NAME] [--quick]    # rows as lines of JSON

One broker and one server of ClickHouse run beside Sluice on the machine. CPU is that of Sluice's
processes and of the server, without the broker's. By the name of the query:

    catch-up      a full topic; each system's cost over its last part, when it has got warm
    10000/s       the paced load; freshness is how far claims were behind what was sent
    empty ticks   some records a second, so that each tick has few: what a tick costs by itself.
                  The records of this row are ticks, a million of them too
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from bench.feed_ground import FEED_DIRECTORY, FeedGround, FeedShard
from bench.ground import PARTITIONS, say
from bench.measure import START_SECONDS_MAX, NothingArrives
from bench.upsert_feed import (
    APPEND,
    UPSERT,
    Meter,
    Row,
    Spent,
    UpsertFeed,
    percentile,
    row,
    running,
)
from bench.upsert_freshness import freshness
from bench.upsert_load import PacedBatches, UpsertLoad, fill

DIRECTORY = FEED_DIRECTORY.with_name("bench-upsert-ingest")
CASES = ("ingest", "freshness")
SILENCE_SECONDS = 60.0
LOOK_SECONDS = 0.1
WARM_SHARE = 0.4
"""Part of a topic that is loaded before the cost is measured: the JVM is slow at first."""
MERGES_SECONDS_MAX = 15.0


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


def run(cases: Collection[str], *, is_quick: bool = False) -> Iterator[Row]:
    """Yields the rows of the cases, as fields of bench/results/upsert.json.

    Raises NothingArrives, and what the lab's servers raise.
    """
    sizes = QUICK if is_quick else Sizes()
    with FeedGround(DIRECTORY) as ground:
        if "ingest" in cases:
            yield from ingest(ground, sizes)
        if "freshness" in cases:
            yield from freshness(
                ground,
                rate=sizes.fresh_rate,
                warm_seconds=sizes.warm_seconds,
                seconds=sizes.fresh_seconds,
            )


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
