"""Page of one feed: its tables, the verifier's last verdicts, its partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui.facts.feed_health import WINDOW_WARN, feed_health, partition_health
from tui.facts.health import ORDER
from tui.pages.ages import age_text
from tui.pages.feed_orders import feed_actions
from tui.pages.figures import (
    duration,
    number_cell,
    seconds,
    short,
    text_cell,
    whole,
)
from tui.pages.page import NO_FOCUS, Action, Cell, Column, Focus, Page, Row, Section
from tui.pages.rows import LazyRows
from tui.pages.states import STATE, is_fault, state_cell

if TYPE_CHECKING:
    from tui.facts.anomaly import Anomaly
    from tui.facts.feed_status import FeedPartitionView, FeedView, ShardView, TableView
    from tui.facts.snapshot import Snapshot

MIB = 1 << 20
TABLES_MAX = 4
VERDICTS_MAX = 3
TABLE_COLUMNS = (
    Column("TABLE", 24, "database and table", grows=True),
    Column("SHARD", 5, "number of the shard", is_right=True, priority=1),
    Column("PARTS", 6, "active parts of the partition that has most", is_right=True),
    Column("BLOCKS/S", 8, "blocks inserted per second, by all loaders", is_right=True, priority=3),
    Column("WINDOW", 8, "time for which a repeated block is recognized", is_right=True),
    Column("COORDINATES", 11, "columns identify each row", priority=2),
)
VERDICT_COLUMNS = (
    Column("AGE", 9, "time since the entry was committed", is_right=True),
    Column("WEIGHT", 8, "anomaly, or accepted by an operator"),
    Column("PLACE", 16, "topic and partition", priority=1),
    Column("VERDICT", 40, "kind and text of the finding", grows=True),
)
PARTITION_COLUMNS = (
    STATE,
    Column("TOPIC", 12, "topic that is loaded", grows=True),
    Column("P", 4, "partition", is_right=True),
    Column("MODE", 7, "replay: repeats blocks; consume; parked", priority=3),
    Column("LAG", 7, "offsets that are not known to be loaded", is_right=True),
    Column("SEC", 6, "age of the records loaded last", is_right=True, priority=2),
    Column("INTENT", 7, "age of the oldest block on its way", is_right=True, priority=1),
    Column("WINDOW", 6, "part of the deduplication window passed", is_right=True, priority=1),
    Column("COMMITTED", 12, "every record below is loaded", is_right=True, priority=5),
    Column("BUFFERED", 8, "MiB that wait to be stored", is_right=True, priority=6, unit=MIB),
    Column("ROWS/S", 7, "rows stored per second", is_right=True, priority=7),
    Column("DEAD", 6, "records that became dead letters, ever", is_right=True, priority=4),
    Column("CLUSTER", 14, "cluster that is read", priority=8),
    Column("SHARD", 5, "number of the shard", is_right=True, priority=9, is_wide=True),
    Column("LOADER", 6, "number of the loader", is_right=True, priority=10, is_wide=True),
    Column("WHY", 20, "reason of the state", priority=11, grows=True),
)
OF_TABLES = ("WINDOW", "SHARD")
"""Columns that have no meaning for a feed into S3; there INTENT is of sealed objects."""
OBJECT_COLUMNS = (
    *(each for each in PARTITION_COLUMNS[:-1] if each.title not in OF_TABLES),
    Column("OPEN", 5, "objects that no intent names yet", is_right=True, priority=2),
    Column("OLDEST", 7, "age of the oldest of them", is_right=True, priority=2),
    PARTITION_COLUMNS[-1],
)


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Feed with its tables, verdicts and partitions.

    Args:
        cluster, topic, partition: the cursor begins on it.
    """

    feed: str
    cluster: str | None = None
    topic: str | None = None
    partition: int | None = None

    @property
    def name(self) -> str:
        return "feeds"

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
        tables = Section(
            "tables",
            TABLE_COLUMNS,
            [row for shard in feed.shards for row in table_rows(shard)],
            empty="no replica has told its tables",
            rows_max=TABLES_MAX,
        )
        return (
            *(() if feed.is_of_objects else (tables,)),
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
                OBJECT_COLUMNS if feed.is_of_objects else PARTITION_COLUMNS,
                partition_rows(feed),
                empty=feed_health(feed).why or "no partitions",
                sort=("STATE", "-LAG", "TOPIC", "P"),
            ),
        )

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns none: the notes say all that is known."""
        return None

    def actions(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[Action]:
        """Returns the orders about the partition under the cursor, or about the whole feed."""
        return feed_actions(self._feed(snapshot), self._partition(snapshot, row))

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns the blocks of a partition that are on their way."""
        partition = self._partition(snapshot, row)
        return () if partition is None else tuple(partition_notes(partition))

    def focus(self) -> Focus:
        """Returns none."""
        return NO_FOCUS

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
            "STATE": state,
            "TOPIC": lambda each: each.topic,
            "P": lambda each: each.partition,
            "MODE": lambda each: each.mode,
            "LAG": lambda each: each.lag_records,
            "SEC": lambda each: each.lag_seconds,
            "INTENT": age_sort,
            "WINDOW": window_sort,
            "COMMITTED": lambda each: each.committed,
            "BUFFERED": lambda each: each.buffered_bytes,
            "ROWS/S": lambda each: each.rows_per_second,
            "DEAD": lambda each: each.dead_letters,
            "CLUSTER": lambda each: each.cluster,
            "SHARD": lambda each: each.shard,
            "LOADER": lambda each: each.loader,
            "OPEN": lambda each: each.open_objects,
            "OLDEST": lambda each: each.open_seconds,
            "WHY": lambda each: partition_health(each, conditions).why,
        },
        is_fault=lambda each: is_fault(partition_health(each, conditions).state),
        text=lambda each: (
            f"{partition_key(each)} {each.mode or ''} {partition_health(each, conditions).why}"
        ),
    )


def partition_row(feed: FeedView, each: FeedPartitionView) -> Row:
    """Returns the row of a partition."""
    health = partition_health(each, feed.conditions or ())
    size = each.buffered_bytes
    row = Row(
        key=partition_key(each),
        cells=(
            state_cell(health.state),
            text_cell(each.topic),
            number_cell(str(each.partition), each.partition),
            Cell(each.mode or "?", "" if each.mode else "warn", each.mode),
            number_cell(short(each.lag_records), each.lag_records),
            number_cell(seconds(each.lag_seconds), each.lag_seconds),
            number_cell(_unless_idle(each, duration(each.intent_age_seconds)), age_sort(each)),
            number_cell(
                _unless_idle(each, percent(each.window_used)),
                window_sort(each),
                percent_tone(each.window_used),
            ),
            number_cell(whole(each.committed), each.committed),
            number_cell("?" if size is None else f"{size / MIB:.1f}", size),
            number_cell(short(each.rows_per_second), each.rows_per_second),
            number_cell(short(each.dead_letters), each.dead_letters),
            text_cell(each.cluster),
            number_cell("-" if each.shard is None else str(each.shard), each.shard),
            number_cell(whole(each.loader), each.loader),
            text_cell(health.why),
        ),
        is_fault=is_fault(health.state),
        why=health.why,
        topic=each.topic,
        feed=feed.feed,
        region=feed.region,
    )
    return _of_objects(row, each) if feed.is_of_objects else row


def _of_objects(row: Row, each: FeedPartitionView) -> Row:
    """Returns the row of a partition with the cells of OBJECT_COLUMNS."""
    cells = dict(zip((column.title for column in PARTITION_COLUMNS), row.cells, strict=True))
    idle = "-" if each.open_objects == 0 else duration(each.open_seconds)
    cells["OPEN"] = number_cell(short(each.open_objects), each.open_objects)
    cells["OLDEST"] = number_cell(idle, each.open_seconds)
    return replace(row, cells=tuple(cells[column.title] for column in OBJECT_COLUMNS))


def _unless_idle(each: FeedPartitionView, text: str) -> str:
    return "-" if each.blocks == () else text


def age_sort(each: FeedPartitionView) -> float | None:
    """Returns the age of the oldest block on its way; 0 without one, None if it is not known."""
    return 0.0 if each.blocks == () else each.intent_age_seconds


def window_sort(each: FeedPartitionView) -> float | None:
    """Returns the part of a window that has passed; 0 without a block, None if it is not known."""
    return 0.0 if each.blocks == () else each.window_used


def partition_notes(each: FeedPartitionView) -> Iterator[str]:
    """Yields where a partition stands, then its blocks that are on their way."""
    custody = each.custody or "no intent"
    yield (
        f"{each.topic}-{each.partition} in {each.cluster}: loaded to {whole(each.committed)} of "
        f"{whole(each.end)}, loader {whole(each.loader)}, custody {custody}"
    )
    for block in each.blocks or ():
        window = "" if each.shard is None else f", {percent(block.window_used)} of the window"
        yield (
            f"on its way: {block.table}: offsets {block.begin:,} to {block.end - 1:,}, "
            f"{block.records:,} records, sealed {age_text(block.age_seconds)} ago{window}"
        )


def table_rows(shard: ShardView) -> Iterator[Row]:
    """Yields the rows of a shard's tables; one that says so where no replica answered."""
    if shard.tables is None:
        unknown = [number_cell("?", None) for _ in TABLE_COLUMNS[2:]]
        yield Row(
            key=f"{shard.number}",
            cells=(text_cell(f"{shard.database}.?"), _number(shard.number), *unknown),
            is_fault=True,
            why=f"no replica of shard {shard.number} answers",
        )
    for view in shard.tables or ():
        yield table_row(shard, view)


def table_row(shard: ShardView, view: TableView) -> Row:
    """Returns the row of a table."""
    state = view.state
    window = state.window_seconds
    # Without a limit a repeated block is recognized at any time.
    text = "any" if window is None else duration(window) if state.window_blocks else "none"
    coordinates = "yes" if state.has_coordinates else "no"
    return Row(
        key=f"{shard.number} {view.table}",
        cells=(
            text_cell(f"{shard.database}.{view.table}"),
            _number(shard.number),
            _number(state.parts),
            number_cell(f"{state.blocks_per_second:.1f}", state.blocks_per_second),
            Cell(text, "warn" if text == "none" else "", 1e18 if window is None else window),
            text_cell(coordinates, "" if state.has_coordinates else "warn"),
        ),
        is_fault=text == "none" and not state.has_coordinates,
    )


def _number(value: int) -> Cell:
    return number_cell(f"{value:,}", value)


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


def percent(part: float | None) -> str:
    """Returns a part of a window: 40%; "?" when it is not known."""
    return "?" if part is None else f"{part:.0%}"


def percent_tone(part: float | None) -> str:
    """Returns the tone of a part of a window that has passed."""
    if part is None or part < WINDOW_WARN:
        return ""
    return "bad" if part >= 1.0 else "warn"
