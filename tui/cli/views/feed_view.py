"""Output of the status of feeds: text for people, and plain values for JSON and YAML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from replicator.notices.condition import Condition, Kind
from tui.cli.views.condition_view import condition_line
from tui.cli.views.order_view import order_values
from tui.cli.views.table import NONE, instant, joined, table
from tui.state.feed_status import FeedStatus, FeedView, PartitionView, TableView
from tui.state.order_words import order_text
from tui.state.totals import largest, total

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
MIB = 1 << 20


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


def partition_values(partition: PartitionView) -> dict[str, Any]:
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
    feeds = status.feeds
    if by_partition:
        rows = [row for feed in feeds for row in partition_rows(feed)]
        parts = [table(PARTITION_HEADS, rows)]
        if blocks := [row for feed in feeds for row in block_rows(feed)]:
            parts.append(table(BLOCK_HEADS, blocks))
    else:
        parts = [table(TOPIC_HEADS, [row for feed in feeds for row in topic_rows(feed)])]
    parts.append(table(TABLE_HEADS, [row for feed in feeds for row in table_rows(feed)]))
    if lines := joined(remarks(status)):
        parts.append(lines)
    return "\n\n".join(parts)


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
            shard_cell(some[0]),
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


def shard_cell(partition: PartitionView) -> int | str:
    """Returns the number of a partition's shard; a feed into objects has no shards."""
    return "-" if partition.shard is None else partition.shard


def partition_rows(feed: FeedView) -> Iterator[tuple[Any, ...]]:
    """Yields a row for each partition, and for each cluster that is unknown."""
    for cluster in feed.unknown_clusters:
        yield (feed.feed, None, cluster, *([None] * (len(PARTITION_HEADS) - 3)))
    for each in feed.partitions:
        yield (
            feed.feed,
            shard_cell(each),
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


def ages(partitions: Sequence[PartitionView]) -> tuple[Any, Any]:
    """Returns the age of the oldest block, and the largest part of a window that has passed.

    Both are ? where an intent is unknown, and - where no block may have been sent.
    """
    if any(each.blocks is None for each in partitions):
        return None, None
    some = [each for each in partitions if each.blocks]
    if not some:
        return NONE, NONE
    oldest = max((each.intent_age_seconds or 0.0 for each in some), default=None)
    return oldest, percent(largest(each.window_used for each in some))


def counts(words: Iterable[str | None]) -> str | None:
    """Returns how often each word occurs: "3 held, 1 parked"; None when one is unknown."""
    found = Counter(words)
    if None in found:
        return None
    return ", ".join(f"{count} {word}" for word, count in sorted(found.items()) if word)


def custody(partition: PartitionView) -> str | None:
    """Returns the custody of a partition, or that it is frozen; None when it is not known."""
    if partition.frozen is not None and partition.parked is None:
        return "frozen"
    return partition.custody


def mib(size_bytes: int | None) -> float | None:
    """Converts bytes to MiB."""
    return None if size_bytes is None else size_bytes / MIB


def percent(part: float | None) -> str | None:
    """Formats a part as a percentage."""
    return None if part is None else f"{part:.0%}"
