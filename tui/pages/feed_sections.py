"""Tables of several feeds into one kind of store, for the text of commands: topics, partitions, and
blocks that may have been sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from tui.pages.feed import (
    CLUSTER,
    CUSTODY,
    FEED,
    FIGURES,
    MODE,
    OBJECT_FIGURES,
    PART,
    PARTITION_FIGURES,
    SHARD,
    TOPIC,
    custody,
    partition_columns,
    partition_rows,
)
from tui.pages.feed_figures import WINDOW, percent
from tui.pages.feeds import PARTS
from tui.pages.figures import (
    UNKNOWN,
    digits_cell,
    number_cell,
    seconds_cell,
    text_cell,
    whole_cell,
)
from tui.pages.page import Cell, Column, Row, Section

if TYPE_CHECKING:
    from tui.facts.feed_status import BlockView, FeedPartitionView, FeedView

NO_TOPIC = "no cluster has a topic of these feeds"
BLOCK_COLUMNS = (
    FEED,
    CLUSTER,
    TOPIC,
    PART,
    Column("TABLE", 24, "table that the block goes to"),
    Column("BEGIN", 12, "first offset", is_right=True),
    Column("END", 12, "offset behind the last", is_right=True),
    Column("RECORDS", 9, "records in it", is_right=True),
    Column("AGE S", 8, "since it was sealed", is_right=True),
    WINDOW.column,
)
OBJECT_COLUMNS = (
    *BLOCK_COLUMNS[:4],
    Column("FOLDERS", 24, "folders of the object"),
    *BLOCK_COLUMNS[5:-1],
)
"""The same of blocks that are objects; no window recognizes one."""


def topics_section(feeds: Iterable[FeedView], is_of_objects: bool) -> Section:
    """Returns a row for each topic of each cluster, and for each cluster that is unknown."""
    figures = OBJECT_FIGURES if is_of_objects else PARTITION_FIGURES
    columns = (
        *(FEED, SHARD, CLUSTER, TOPIC, PARTS, MODE),
        *(figure.column for figure in figures),
        CUSTODY,
    )
    rows: list[Row] = []
    for feed in feeds:
        rows += _unknown_rows(feed, columns)
        by_topic = groupby(feed.partitions, key=lambda each: (each.cluster, each.topic))
        rows += [_topic_row(feed, list(some), columns) for _, some in by_topic]
    return Section("topics", columns, rows, empty=NO_TOPIC)


def _topic_row(
    feed: FeedView, group: Sequence[FeedPartitionView], columns: Iterable[Column]
) -> Row:
    first = group[0]
    cells = {
        "FEED": text_cell(feed.feed),
        "SHARD": digits_cell(first.shard),
        "CLUSTER": text_cell(first.cluster),
        "TOPIC": text_cell(first.topic),
        "PARTS": digits_cell(len(group)),
        "MODE": _counts(each.mode for each in group),
        "CUSTODY": _counts(map(custody, group)),
    }
    return Row(
        key=f"{feed.feed} {first.topic} {first.cluster}",
        cells=tuple(
            cells.get(column.title) or FIGURES[column.title].cell(group) for column in columns
        ),
    )


def _counts(words: Iterable[str | None]) -> Cell:
    """Returns how often each word occurs: "3 held, 1 parked"; unknown when one is."""
    found = Counter(words)
    if None in found:
        return Cell(UNKNOWN)
    return text_cell(", ".join(f"{count} {word}" for word, count in sorted(found.items()) if word))


def partitions_section(feeds: Iterable[FeedView], is_of_objects: bool) -> Section:
    """Returns a row for each partition, as on its feed's page, and for each unknown cluster."""
    columns = partition_columns(is_of_objects)
    rows: list[Row] = []
    for feed in feeds:
        rows += _unknown_rows(feed, columns)
        rows += partition_rows(feed)
    return Section("partitions", columns, rows, empty=NO_TOPIC)


def _unknown_rows(feed: FeedView, columns: Sequence[Column]) -> Iterator[Row]:
    for cluster in feed.unknown_clusters:
        known = {FEED.title: feed.feed, CLUSTER.title: cluster}
        cells = tuple(text_cell(known.get(column.title, UNKNOWN)) for column in columns)
        yield Row(key=f"{feed.feed} {cluster}", cells=cells)


def blocks_section(feeds: Iterable[FeedView], is_of_objects: bool) -> Section:
    """Returns a row for each block that may have been sent; nothing is said of none."""
    columns = OBJECT_COLUMNS if is_of_objects else BLOCK_COLUMNS
    rows = [
        _block_row(feed, each, block, columns)
        for feed in feeds
        for each in feed.partitions
        for block in each.blocks or ()
    ]
    return Section("blocks", columns, rows, empty="")


def _block_row(
    feed: FeedView, partition: FeedPartitionView, block: BlockView, columns: Sequence[Column]
) -> Row:
    cells = (
        text_cell(feed.feed),
        text_cell(partition.cluster),
        text_cell(partition.topic),
        whole_cell(partition.partition),
        text_cell(block.table),
        whole_cell(block.begin),
        whole_cell(block.end),
        whole_cell(block.records),
        seconds_cell(block.age_seconds),
        number_cell(percent(block.window_used), block.window_used),
    )
    return Row(key=f"{block.table} {block.begin}", cells=cells[: len(columns)])
