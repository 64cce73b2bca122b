"""Reports of a loader on its partitions while it loads: state and rates, for people.

None means unknown, never 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import Any, NamedTuple, Self

BUFFERING, LOADING = "buffering", "loading"
TOO_MANY_PARTS = "held: too many parts"


class FeedPartition(NamedTuple):
    """Partition of one of the clusters that a feed reads."""

    cluster: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class TableReport:
    """State of one table in a partition.

    Args:
        state: buffering, loading, or held: too many parts.
        since_ms: Unix time in milliseconds from which on the table has been in this state.
    """

    state: str
    since_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderReport:
    """State of one partition of a feed, as its loader saw it.

    Args:
        loader: number of the loader.
        mode: replay, consume or parked.
        position: next offset to read.
        offset: offset below which everything is loaded; it may be ahead of the intent's.
        buffered_bytes: bytes of records that are read and not yet loaded.
        tables: tables with records that are not yet loaded; of a feed into objects, encoded
            partitions with a sealed one.
        rows_per_second: rows loaded, averaged over the time since the report before.
        lag_seconds: age of the last loaded records when they were stored, by their timestamps.
        dead_letters: records set aside since the partition was adopted, as its intent counts them.
        parked: the reason why the partition waits for an operator; None when it does not.
        committed: offset of the intent as committed last.
        source_end: last stable offset, as the last fetch reported it.
        window_used: part of the deduplication window that has passed for the block that is nearest
            to its end; 0 without a block under way, None if none of their tables has a window.
        losses: losses that operators accepted, as the intent counts them.
        is_frozen: nothing more is read, by an operator's order.
        open_objects: encoded partitions with an object that takes records, or that has ended and is
            not sealed; None for a feed into tables.
        open_since_ms: Unix time at which the first record of the oldest of them was read; None
            without one.
        at_ms: Unix time of the report, in milliseconds.
    """

    feed: str
    loader: int
    cluster: str
    topic: str
    partition: int
    mode: str
    position: int
    offset: int
    buffered_bytes: int
    tables: Mapping[str, TableReport] = field(default_factory=lambda: MappingProxyType({}))
    rows_per_second: float | None = None
    lag_seconds: float | None = None
    dead_letters: int | None = None
    parked: str | None = None
    committed: int | None = None
    source_end: int | None = None
    window_used: float | None = None
    losses: int | None = None
    is_frozen: bool | None = None
    open_objects: int | None = None
    open_since_ms: int | None = None
    at_ms: int

    @property
    def source(self) -> FeedPartition:
        return FeedPartition(self.cluster, self.topic, self.partition)

    @property
    def lag_records(self) -> int | None:
        """Offsets up to the source's end that are not known to be loaded."""
        return None if self.source_end is None else max(0, self.source_end - self.offset)

    @property
    def in_flight(self) -> int:
        """Number of blocks that are not known to be stored."""
        return sum(table.state != BUFFERING for table in self.tables.values())

    @property
    def held_tables(self) -> int:
        """Number of tables into which nothing is inserted at present."""
        return sum(table.state == TOO_MANY_PARTS for table in self.tables.values())

    @property
    def intent_seconds(self) -> float:
        """Age of the oldest block that is not known to be stored; 0 without one."""
        return self._age_seconds(t for t in self.tables.values() if t.state != BUFFERING)

    @property
    def end_to_end_seconds(self) -> float | None:
        """Age of the records stored last, when they were stored, or the time for which records have
        waited to be stored if that is longer. None: nothing was stored, and nothing waits."""
        if self.lag_seconds is None and not self.tables and not self.open_objects:
            return None
        waiting = self._age_seconds(self.tables.values())
        return max(self.lag_seconds or 0.0, waiting, self.open_seconds or 0.0)

    @property
    def open_seconds(self) -> float | None:
        """Age of the oldest open object; 0 without one, None for a feed into tables."""
        if self.open_objects is None:
            return None
        since_ms = self.at_ms if self.open_since_ms is None else self.open_since_ms
        return max(0, self.at_ms - since_ms) / 1000

    def _age_seconds(self, tables: Iterable[TableReport]) -> float:
        return max((max(0, self.at_ms - each.since_ms) for each in tables), default=0) / 1000

    def to_json(self) -> str:
        """Returns the report as compact JSON."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["tables"] = {name: asdict(table) for name, table in self.tables.items()}
        return json.dumps(values, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Parses a report; fields of later versions are ignored. Raises ValueError."""
        try:
            values = json.loads(text)
            tables = {name: _known(TableReport, each) for name, each in values["tables"].items()}
            report: Self = _known(cls, {**values, "tables": MappingProxyType(tables)})
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"a loader's report of another form: {error}") from error
        return report


def latest(reports: Iterable[LoaderReport]) -> dict[FeedPartition, LoaderReport]:
    """Returns the newest report of each partition: after a move two loaders report one."""
    newest: dict[FeedPartition, LoaderReport] = {}
    for report in reports:
        before = newest.get(report.source)
        if before is None or before.at_ms < report.at_ms:
            newest[report.source] = report
    return newest


def _known(kind: Any, values: Mapping[str, Any]) -> Any:
    """Makes a value from those fields that this version knows."""
    names = {each.name for each in fields(kind)}
    return kind(**{name: value for name, value in values.items() if name in names})
