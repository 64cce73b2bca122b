"""Tables of the status of feeds into S3: topics, or partitions and their sealed objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from tui.commands.text import NONE, table
from tui.commands.views.feed_cells import ages, counts, custody, mib
from tui.facts.feed_status import FeedPartitionView, FeedView
from tui.facts.totals import largest, total

TOPIC_HEADS = (
    "FEED",
    "CLUSTER",
    "TOPIC",
    "PARTS",
    "MODE",
    "LAG",
    "RECORDS/S",
    "BUFFERED MIB",
    "OPEN",
    "OPEN S",
    "SEALED",
    "SEALED S",
    "DEAD",
    "CUSTODY",
)
"""OPEN: objects that no intent names yet; SEALED: those that may be complete."""
PARTITION_HEADS = (
    "FEED",
    "CLUSTER",
    "TOPIC",
    "PART",
    "MODE",
    "COMMITTED",
    "END",
    "LAG",
    "RECORDS/S",
    "BUFFERED MIB",
    "OPEN",
    "OPEN S",
    "SEALED",
    "SEALED S",
    "DEAD",
    "LOADER",
    "CUSTODY",
)
SEALED_HEADS = ("FEED", "CLUSTER", "TOPIC", "PART", "FOLDERS", "BEGIN", "END", "RECORDS", "AGE S")


def object_tables(feeds: Sequence[FeedView], by_partition: bool) -> Iterator[str]:
    """Yields the table of topics, or those of partitions and of sealed objects."""
    if not by_partition:
        yield table(TOPIC_HEADS, [row for feed in feeds for row in topic_rows(feed)])
        return
    yield table(PARTITION_HEADS, [row for feed in feeds for row in partition_rows(feed)])
    if sealed := [row for feed in feeds for row in sealed_rows(feed)]:
        yield table(SEALED_HEADS, sealed)


def topic_rows(feed: FeedView) -> Iterator[tuple[Any, ...]]:
    """Yields a row for each topic of each cluster, and for each cluster that is unknown."""
    for cluster in feed.unknown_clusters:
        yield (feed.feed, cluster, *([None] * (len(TOPIC_HEADS) - 2)))
    for (cluster, topic), found in groupby(
        feed.partitions, key=lambda each: (each.cluster, each.topic)
    ):
        some = list(found)
        yield (
            feed.feed,
            cluster,
            topic,
            len(some),
            counts(each.mode for each in some),
            total(each.lag_records for each in some),
            total(each.rows_per_second for each in some),
            mib(total(each.buffered_bytes for each in some)),
            *objects(some),
            total(each.dead_letters for each in some),
            counts(map(custody, some)),
        )


def partition_rows(feed: FeedView) -> Iterator[tuple[Any, ...]]:
    """Yields a row for each partition, and for each cluster that is unknown."""
    for cluster in feed.unknown_clusters:
        yield (feed.feed, cluster, *([None] * (len(PARTITION_HEADS) - 2)))
    for each in feed.partitions:
        yield (
            feed.feed,
            each.cluster,
            each.topic,
            each.partition,
            each.mode,
            each.committed,
            each.end,
            each.lag_records,
            each.rows_per_second,
            mib(each.buffered_bytes),
            *objects([each]),
            each.dead_letters,
            each.loader,
            custody(each),
        )


def sealed_rows(feed: FeedView) -> Iterator[tuple[Any, ...]]:
    """Yields a row for each object that may be complete."""
    for each in feed.partitions:
        for sealed in each.blocks or ():
            yield (
                feed.feed,
                each.cluster,
                each.topic,
                each.partition,
                sealed.table,
                sealed.begin,
                sealed.end,
                sealed.records,
                sealed.age_seconds,
            )


def objects(partitions: Sequence[FeedPartitionView]) -> tuple[Any, ...]:
    """Returns number and greatest age of open objects, then of sealed ones."""
    opened = total(each.open_objects for each in partitions)
    open_seconds = largest(each.open_seconds for each in partitions)
    sealed = total(None if each.blocks is None else len(each.blocks) for each in partitions)
    return (
        opened,
        NONE if opened == 0 else open_seconds,
        sealed,
        ages(partitions)[0],
    )
