"""Output of the status of feeds: text for people, and plain values for JSON and YAML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from replicator.notices.condition import Condition, Kind
from tui.commands.order_text import order_values
from tui.commands.text import NONE, condition_line, instant, joined, table
from tui.commands.views.feed_cells import ages, counts, custody, mib, percent
from tui.commands.views.object_feed_view import object_tables
from tui.facts.feed_status import FeedPartitionView, FeedStatus, FeedView, TableView
from tui.facts.order_words import order_text
from tui.facts.totals import largest, total

TOPIC_HEADS = (
    "FEED",
    "SHARD",
    "CLUSTER",
    "TOPIC",
    "PARTS",
    "MODE",
    "LAG",
    "LAG S",
    "ROWS/S",
    "BUFFERED MIB",
    "INTENT S",
    "WINDOW",
    "DEAD",
    "CUSTODY",
)
PARTITION_HEADS = (
    "FEED",
    "SHARD",
    "CLUSTER",
    "TOPIC",
    "PART",
    "MODE",
    "COMMITTED",
    "END",
    "LAG",
    "LAG S",
    "ROWS/S",
    "BUFFERED MIB",
    "INTENT S",
    "WINDOW",
    "DEAD",
    "LOADER",
    "CUSTODY",
)
BLOCK_HEADS = (
    "FEED",
    "CLUSTER",
    "TOPIC",
    "PART",
    "TABLE",
    "BEGIN",
    "END",
    "RECORDS",
    "AGE S",
    "WINDOW",
)
TABLE_HEADS = (
    "FEED",
    "SHARD",
    "TABLE",
    "PARTS",
    "BLOCKS/S",
    "WINDOW BLOCKS",
    "WINDOW S",
    "COORDINATES",
)
WINDOW_REMARK = 0.5
"""Part of a deduplication window from which on a remark names the block."""


def as_values(status: FeedStatus) -> dict[str, Any]:
    """Returns the whole status as plain values, down to the blocks."""
    return {
        "version": status.version,
        "taken_at": instant(status.taken_at_ms),
        "problems": list(status.problems),
        "feeds": [feed_values(feed) for feed in status.feeds],
    }


def feed_values(feed: FeedView) -> dict[str, Any]:
    """Returns one feed as plain values."""
    orders = None if feed.orders is None else [order_values(order) for order in feed.orders]
    return {
        "feed": feed.feed,
        "kind": feed.kind,
        "region": feed.region,
        "problems": list(feed.problems),
        "unknown_clusters": list(feed.unknown_clusters),
        "orders": orders,
        "conditions": None
        if feed.conditions is None
        else [asdict(each) for each in feed.conditions],
        "shards": [
            {
                "number": shard.number,
                "database": shard.database,
                "tables": None
                if shard.tables is None
                else [table_values(each) for each in shard.tables],
            }
            for shard in feed.shards
        ],
        "partitions": [partition_values(partition) for partition in feed.partitions],
    }


def table_values(view: TableView) -> dict[str, Any]:
    """Returns a table of a shard as plain values."""
    state = view.state
    return {"table": view.table, **asdict(state), "window_seconds": state.window_seconds}


def partition_values(partition: FeedPartitionView) -> dict[str, Any]:
    """Returns a partition as plain values."""
    return {
        **asdict(partition),
        "blocks": None
        if partition.blocks is None
        else [asdict(block) for block in partition.blocks],
        "intent_age_seconds": partition.intent_age_seconds,
        "window_used": partition.window_used,
    }


def as_text(status: FeedStatus, by_partition: bool = False) -> str:
    """Formats topics, or partitions and blocks, and the tables, with the remarks below."""
    by_store = sorted(status.feeds, key=lambda each: each.is_of_objects)
    parts: list[str] = []
    for is_of_objects, some in groupby(by_store, key=lambda each: each.is_of_objects):
        feeds = list(some)
        if is_of_objects:
            parts += object_tables(feeds, by_partition)
        else:
            parts += _of_tables(feeds, by_partition)
    if lines := joined(remarks(status)):
        parts.append(lines)
    return "\n\n".join(parts)


def _of_tables(feeds: Sequence[FeedView], by_partition: bool) -> Iterator[str]:
    """Yields the tables of feeds into ClickHouse."""
    if by_partition:
        yield table(PARTITION_HEADS, [row for feed in feeds for row in partition_rows(feed)])
        if blocks := [row for feed in feeds for row in block_rows(feed)]:
            yield table(BLOCK_HEADS, blocks)
    else:
        yield table(TOPIC_HEADS, [row for feed in feeds for row in topic_rows(feed)])
    yield table(TABLE_HEADS, [row for feed in feeds for row in table_rows(feed)])


def topic_rows(feed: FeedView) -> Iterator[tuple[Any, ...]]:
    """Yields a row for each topic of each cluster, and for each cluster that is unknown."""
    for cluster in feed.unknown_clusters:
        yield (feed.feed, None, cluster, *([None] * (len(TOPIC_HEADS) - 3)))
    for (cluster, topic), found in groupby(
        feed.partitions, key=lambda each: (each.cluster, each.topic)
    ):
        some = list(found)
        yield (
            feed.feed,
            some[0].shard,
            cluster,
            topic,
            len(some),
            counts(each.mode for each in some),
            total(each.lag_records for each in some),
            largest(each.lag_seconds for each in some),
            total(each.rows_per_second for each in some),
            mib(total(each.buffered_bytes for each in some)),
            *ages(some),
            total(each.dead_letters for each in some),
            counts(map(custody, some)),
        )


def partition_rows(feed: FeedView) -> Iterator[tuple[Any, ...]]:
    """Yields a row for each partition, and for each cluster that is unknown."""
    for cluster in feed.unknown_clusters:
        yield (feed.feed, None, cluster, *([None] * (len(PARTITION_HEADS) - 3)))
    for each in feed.partitions:
        yield (
            feed.feed,
            each.shard,
            each.cluster,
            each.topic,
            each.partition,
            each.mode,
            each.committed,
            each.end,
            each.lag_records,
            each.lag_seconds,
            each.rows_per_second,
            mib(each.buffered_bytes),
            *ages([each]),
            each.dead_letters,
            each.loader,
            custody(each),
        )


def block_rows(feed: FeedView) -> Iterator[tuple[Any, ...]]:
    """Yields a row for each block that may have been sent."""
    for each in feed.partitions:
        for block in each.blocks or ():
            yield (
                feed.feed,
                each.cluster,
                each.topic,
                each.partition,
                block.table,
                block.begin,
                block.end,
                block.records,
                block.age_seconds,
                percent(block.window_used),
            )


def table_rows(feed: FeedView) -> Iterator[tuple[Any, ...]]:
    """Yields a row for each table of each shard, and for each shard that is unknown."""
    for shard in feed.shards:
        if shard.tables is None:
            yield (feed.feed, shard.number, *([None] * (len(TABLE_HEADS) - 2)))
        for view in shard.tables or ():
            state = view.state
            window = state.window_seconds
            yield (
                feed.feed,
                shard.number,
                f"{shard.database}.{view.table}",
                state.parts,
                state.blocks_per_second,
                state.window_blocks or NONE,
                "any" if window is None else window if state.window_blocks else NONE,
                "yes" if state.has_coordinates else "no",
            )


def remarks(status: FeedStatus) -> Iterator[str]:
    """Yields conditions, parked partitions, blocks whose window passes, orders, and problems.

    A condition that several feeds share is yielded once.
    """
    yield from dict.fromkeys(map(condition_line, _conditions(status)))
    for feed in status.feeds:
        for each in feed.partitions:
            name = f"{feed.feed} {each.cluster} {each.topic}-{each.partition}"
            if each.parked is not None:
                yield f"parked: {name}: {each.parked}"
            for block in each.blocks or ():
                if (block.window_used or 0.0) >= WINDOW_REMARK:
                    yield (
                        f"old block: {name}: offsets [{block.begin}, {block.end}) of "
                        f"{block.table} were sealed {block.age_seconds:.0f} s ago, "
                        f"{percent(block.window_used)} of the table's deduplication window"
                    )
        for order in feed.orders or ():
            yield f"order: {feed.feed}: {order_text(order)}, by {order.who}: {order.why}"
    for problem in status.problems:
        yield f"problem: {problem}"


def _conditions(status: FeedStatus) -> Iterator[Condition]:
    """Yields conditions, without those that a partition tells itself."""
    for feed in status.feeds:
        told = {
            (Kind.PARKED.value, each.cluster, each.topic, each.partition)
            for each in feed.partitions
            if each.parked is not None
        }
        for each in feed.conditions or ():
            if (each.kind, each.cluster, each.topic, each.partition) not in told:
                yield each
