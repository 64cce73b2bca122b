"""Page of one feed: its tables, the verifier's last verdicts, its partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui.facts.feed_health import feed_health, partition_health
from tui.facts.health import ORDER
from tui.pages.ages import age_text
from tui.pages.feed_figures import (
    AGE,
    BUFFERED,
    DEAD,
    LAG,
    LAG_SECONDS,
    OPEN,
    OPEN_SECONDS,
    ROWS,
    SEALED,
    SEALED_SECONDS,
    WINDOW,
    Figure,
    percent,
)
from tui.pages.feed_orders import feed_actions
from tui.pages.figures import digits_cell, number_cell, seconds, text_cell, whole, whole_cell
from tui.pages.page import Action, Cell, Column, Page, Row, Section
from tui.pages.rows import LazyRows
from tui.pages.states import STATE, is_fault, state_cell

if TYPE_CHECKING:
    from tui.facts.anomaly import Anomaly
    from tui.facts.feed_status import FeedPartitionView, FeedView, ShardView, TableView
    from tui.facts.snapshot import Snapshot

TABLES_MAX = 4
VERDICTS_MAX = 3
FEED = Column("FEED", 14, "name in the configuration", grows=True)
OF_FEED = replace(FEED, priority=20, is_printed_only=True)
"""The same in tables of one feed, whose page has it in its title."""
SHARD = Column("SHARD", 5, "number of the shard", is_right=True, priority=10)
CLUSTER = Column("CLUSTER", 14, "cluster that is read", priority=9)
TOPIC = Column("TOPIC", 12, "topic that is loaded", grows=True)
PART = Column("PART", 4, "partition", is_right=True)
MODE = Column("MODE", 7, "replay: repeats blocks; consume; parked", priority=4)
CUSTODY = Column(
    "CUSTODY",
    9,
    "held by a loader; released; parked; frozen; no intent: not adopted yet",
    priority=20,
    is_printed_only=True,
)
WHY = Column("WHY", 20, "reason of the state", priority=12, grows=True)
TABLE_COLUMNS = (
    OF_FEED,
    Column("TABLE", 24, "database and table", grows=True),
    SHARD,
    Column("ACTIVE PARTS", 12, "of the partition of the table that has most", is_right=True),
    Column("BLOCKS/S", 8, "blocks inserted per second, by all loaders", is_right=True, priority=12),
    Column(
        "WINDOW BLOCKS",
        13,
        "blocks that are recognized when they are repeated",
        is_right=True,
        priority=20,
        is_printed_only=True,
    ),
    Column("WINDOW S", 8, "time for which a repeated block is recognized", is_right=True),
    Column("COORDINATES", 11, "columns identify each row", priority=11),
)
VERDICT_COLUMNS = (
    Column("AGE", 9, "time since the entry was committed", is_right=True),
    Column("WEIGHT", 8, "anomaly, or accepted by an operator"),
    Column("PLACE", 16, "topic and partition", priority=1),
    Column("VERDICT", 40, "kind and text of the finding", grows=True),
)
PARTITION_FIGURES = (LAG, LAG_SECONDS, AGE, WINDOW, BUFFERED, ROWS, DEAD)
OBJECT_FIGURES = (
    LAG,
    LAG_SECONDS,
    OPEN,
    OPEN_SECONDS,
    SEALED,
    SEALED_SECONDS,
    BUFFERED,
    ROWS,
    DEAD,
)
"""Figures of a feed into S3, where blocks are objects."""


def _partition_columns(figures: Sequence[Figure]) -> tuple[Column, ...]:
    return (
        STATE,
        OF_FEED,
        TOPIC,
        PART,
        MODE,
        *(figure.column for figure in figures),
        Column("COMMITTED", 12, "every record below is loaded", is_right=True, priority=7),
        Column("END", 12, "last stable offset", is_right=True, priority=20, is_printed_only=True),
        CLUSTER,
        SHARD,
        Column("LOADER", 6, "number of the loader", is_right=True, priority=11, is_wide=True),
        CUSTODY,
        WHY,
    )


PARTITION_COLUMNS = _partition_columns(PARTITION_FIGURES)
OBJECT_COLUMNS = tuple(each for each in _partition_columns(OBJECT_FIGURES) if each is not SHARD)
FIGURES = {each.column.title: each for each in (*PARTITION_FIGURES, *OBJECT_FIGURES)}


@dataclass(frozen=True, slots=True)
class FeedPage(Page):
    """Feed with its tables, verdicts and partitions.

    Args:
        cluster, topic, partition: the cursor begins on it.
    """

    feed: str
    cluster: str | None = None
    topic: str | None = None
    partition: int | None = None

    name = "feeds"

    @property
    def cursor(self) -> tuple[str, str] | None:
        """Row on which the cursor begins."""
        if None in (self.cluster, self.topic, self.partition):
            return None
        return "partitions", f"{self.topic}-{self.partition} {self.cluster}"

    def title(self, snapshot: Snapshot) -> str:
        """Returns feed, region and number of partitions."""
        feed = self._feed(snapshot)
        if feed is None:
            return f"feed {self.feed}   not known"
        return f"feed {feed.feed}   region {feed.region}, {len(feed.partitions)} partitions"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the tables of ClickHouse, the verdicts, and the partitions."""
        feed = self._feed(snapshot)
        if feed is None:
            return (Section("partitions", PARTITION_COLUMNS, (), empty=f"no feed {self.feed}"),)
        return (
            *(() if feed.is_of_objects else (tables_section([feed]),)),
            Section(
                "verdicts",
                VERDICT_COLUMNS,
                [row for each in feed.findings or () for row in verdict_rows(each, now)],
                heading="last verdicts of the verifier",
                empty="none: no anomaly, no accepted loss"
                if feed.findings is not None
                else "not known",
                sort=("AGE",),
                rows_max=VERDICTS_MAX,
            ),
            Section(
                "partitions",
                partition_columns(feed.is_of_objects),
                partition_rows(feed),
                empty=feed_health(feed).why or "no partitions",
                sort=("STATE", "-LAG", "TOPIC", "PART"),
            ),
        )

    def actions(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[Action]:
        """Returns the orders about the partition under the cursor, or about the whole feed."""
        return feed_actions(self._feed(snapshot), self._partition(snapshot, row))

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns the blocks of a partition that are on their way."""
        partition = self._partition(snapshot, row)
        return () if partition is None else tuple(partition_notes(partition))

    def _feed(self, snapshot: Snapshot) -> FeedView | None:
        return next((each for each in snapshot.feeds if each.feed == self.feed), None)

    def _partition(self, snapshot: Snapshot, row: Row | None) -> FeedPartitionView | None:
        feed = self._feed(snapshot)
        if feed is None or row is None or row.topic is None:
            return None
        return next((each for each in feed.partitions if partition_key(each) == row.key), None)


def partition_key(each: FeedPartitionView) -> str:
    """Returns the key of a partition's row."""
    return f"{each.topic}-{each.partition} {each.cluster}"


def partition_rows(feed: FeedView) -> LazyRows[FeedPartitionView]:
    """Returns the rows of partitions, each made when it is looked at."""
    conditions = feed.conditions or ()

    def state(each: FeedPartitionView) -> int:
        return ORDER[partition_health(each, conditions).state]

    return LazyRows(
        items=feed.partitions,
        make=lambda each: partition_row(feed, each),
        key=partition_key,
        sorts={
            **{title: figure.of for title, figure in FIGURES.items()},
            "STATE": state,
            "FEED": lambda _: feed.feed,
            "TOPIC": lambda each: each.topic,
            "PART": lambda each: each.partition,
            "MODE": lambda each: each.mode,
            "COMMITTED": lambda each: each.committed,
            "END": lambda each: each.end,
            "CLUSTER": lambda each: each.cluster,
            "SHARD": lambda each: each.shard,
            "LOADER": lambda each: each.loader,
            "CUSTODY": custody,
            "WHY": lambda each: partition_health(each, conditions).why,
        },
        is_fault=lambda each: is_fault(partition_health(each, conditions).state),
        text=lambda each: (
            f"{partition_key(each)} {each.mode or ''} {partition_health(each, conditions).why}"
        ),
    )


def partition_columns(is_of_objects: bool) -> tuple[Column, ...]:
    """Returns the columns of the partitions of a feed into S3, or into ClickHouse."""
    return OBJECT_COLUMNS if is_of_objects else PARTITION_COLUMNS


def partition_row(feed: FeedView, each: FeedPartitionView) -> Row:
    """Returns the row of a partition."""
    health = partition_health(each, feed.conditions or ())
    cells = {
        "STATE": state_cell(health.state),
        "FEED": text_cell(feed.feed),
        "TOPIC": text_cell(each.topic),
        "PART": digits_cell(each.partition),
        "MODE": Cell(each.mode or "?", "" if each.mode else "warn", each.mode),
        "COMMITTED": whole_cell(each.committed),
        "END": whole_cell(each.end),
        "CLUSTER": text_cell(each.cluster),
        "SHARD": number_cell("-" if each.shard is None else str(each.shard), each.shard),
        "LOADER": whole_cell(each.loader),
        "CUSTODY": Cell(custody(each) or "?", sort=custody(each)),
        "WHY": text_cell(health.why),
    }
    return Row(
        key=partition_key(each),
        cells=tuple(
            cells.get(title) or FIGURES[title].cell((each,))
            for title in (column.title for column in partition_columns(feed.is_of_objects))
        ),
        is_fault=is_fault(health.state),
        why=health.why,
        topic=each.topic,
        feed=feed.feed,
        region=feed.region,
    )


def custody(partition: FeedPartitionView) -> str | None:
    """Returns the custody of a partition, or that it is frozen; None when it is not known."""
    if partition.frozen is not None and partition.parked is None:
        return "frozen"
    return partition.custody


def partition_notes(each: FeedPartitionView) -> Iterator[str]:
    """Yields where a partition stands, then its blocks that are on their way."""
    yield (
        f"{each.topic}-{each.partition} in {each.cluster}: loaded to {whole(each.committed)} of "
        f"{whole(each.end)}, loader {whole(each.loader)}, custody {each.custody or 'no intent'}"
    )
    for block in each.blocks or ():
        window = "" if each.shard is None else f", {percent(block.window_used)} of the window"
        yield (
            f"on its way: {block.table}: offsets {block.begin:,} to {block.end - 1:,}, "
            f"{block.records:,} records, sealed {age_text(block.age_seconds)} ago{window}"
        )


def tables_section(feeds: Iterable[FeedView]) -> Section:
    """Returns the tables of feeds into ClickHouse."""
    return Section(
        "tables",
        TABLE_COLUMNS,
        [row for feed in feeds for shard in feed.shards for row in table_rows(feed.feed, shard)],
        empty="no replica has told its tables",
        rows_max=TABLES_MAX,
    )


def table_rows(feed: str, shard: ShardView) -> Iterator[Row]:
    """Yields the rows of a shard's tables; one that says so where no replica answered."""
    if shard.tables is None:
        unknown = [number_cell("?", None) for _ in TABLE_COLUMNS[3:]]
        yield Row(
            key=f"{shard.number}",
            cells=(
                text_cell(feed),
                text_cell(f"{shard.database}.?"),
                whole_cell(shard.number),
                *unknown,
            ),
            is_fault=True,
            why=f"no replica of shard {shard.number} answers",
        )
    for view in shard.tables or ():
        yield table_row(feed, shard, view)


def table_row(feed: str, shard: ShardView, view: TableView) -> Row:
    """Returns the row of a table."""
    state = view.state
    is_recognizing = state.window_blocks > 0
    return Row(
        key=f"{shard.number} {view.table}",
        cells=(
            text_cell(feed),
            text_cell(f"{shard.database}.{view.table}"),
            whole_cell(shard.number),
            whole_cell(state.parts),
            number_cell(f"{state.blocks_per_second:.1f}", state.blocks_per_second),
            whole_cell(state.window_blocks) if is_recognizing else Cell("none", "warn", 0.0),
            _window_cell(state.window_seconds) if is_recognizing else Cell("none", "warn", 0.0),
            text_cell(
                "yes" if state.has_coordinates else "no", "" if state.has_coordinates else "warn"
            ),
        ),
        is_fault=not is_recognizing and not state.has_coordinates,
    )


def _window_cell(window_seconds: float | None) -> Cell:
    # Without a limit a repeated block is recognized at any time.
    if window_seconds is None:
        return Cell("any", sort=1e18)
    return Cell(seconds(window_seconds), sort=window_seconds, full=f"{window_seconds:.1f}")


def verdict_rows(anomaly: Anomaly, now: float) -> Iterator[Row]:
    """Yields a row for each finding about an entry."""
    age = now - anomaly.at_ms / 1000
    place = f"{anomaly.topic}-{anomaly.partition}"
    for at, finding in enumerate(anomaly.findings):
        is_bad = finding.weight == "anomaly"
        yield Row(
            key=f"{anomaly.cluster} {place} {anomaly.at_ms} {at}",
            cells=(
                Cell(age_text(age), sort=age),
                text_cell(finding.weight, "bad" if is_bad else ""),
                text_cell(place),
                text_cell(str(finding)),
            ),
            is_fault=is_bad,
            why=f"{finding}; before: {anomaly.before or 'none'}; after: {anomaly.after or 'none'}",
        )
