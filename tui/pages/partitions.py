"""Page of the partitions of a topic: progress, rates, carrier, custody, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui.facts.health import ORDER
from tui.pages.figures import (
    UNKNOWN,
    count_cell,
    digits_cell,
    duration,
    megabytes,
    megabytes_cell,
    number_cell,
    per_second,
    seconds_cell,
    short,
    text_cell,
    whole,
    whole_cell,
)
from tui.pages.page import Action, Cell, Column, Focus, Page, Row, Section
from tui.pages.rows import LazyRows, Shown, shown_by, sorts_by
from tui.pages.states import ROUTE, STATE, TOPIC, is_fault, state_cell
from tui.pages.stream_orders import topic_actions

if TYPE_CHECKING:
    from tui.facts.route_view import PartitionView, RouteView
    from tui.facts.snapshot import Snapshot

MEGABYTE = 1e6
RECORDS, SECONDS, BYTES = "records", "seconds", "bytes"
MEASURES = (RECORDS, SECONDS, BYTES)
GROWS = 1e18
"""Time to drain by which a lag that grows is sorted."""
LAG_MEANINGS = {
    RECORDS: "source offsets that are not mirrored yet; not all are records where the topic is "
    "compacted or has transactions",
    SECONDS: "age of the oldest record that is not mirrored",
    BYTES: "lag in megabytes: the records at the size of those mirrored lately",
}
COLUMNS = (
    STATE,
    Column("PART", 5, "partition", is_right=True),
    Column("SOURCE END", 12, "last stable offset of the source", is_right=True, priority=6),
    Column("MIRRORED TO", 12, "next source offset to mirror", is_right=True, priority=5),
    Column("LAG", 6, LAG_MEANINGS[RECORDS], is_right=True, priority=1),
    Column("LAG S", 5, "age of the oldest record not mirrored", is_right=True, priority=2),
    Column("DRAIN", 6, "time until the lag is gone at this pace", is_right=True, priority=3),
    Column("CARRIER", 10, "number of the carrier, and its host", priority=4),
    Column("TREND", 9, "change of the lag, over the last minute", is_right=True, priority=7),
    Column("REC/S", 7, "records mirrored per second", is_right=True, priority=8),
    Column("MB/S", 6, "megabytes mirrored per second", is_right=True, priority=9, unit=MEGABYTE),
    Column("CUSTODY", 8, "ledger: virgin, held, released, parked", priority=10),
    Column("OPEN TX", 7, "seconds that a transaction is open", is_right=True, priority=12),
    Column("UNSTABLE", 8, "lag with open transactions", is_right=True, priority=13, is_wide=True),
    Column("WHY", 20, "reason of the state", priority=11, grows=True),
)


@dataclass(frozen=True, slots=True)
class PartitionsPage(Page):
    """Partitions of one topic of a route.

    Args:
        partition: the cursor begins on it.
        measure: records, seconds or bytes: of the column LAG.
    """

    route: str
    topic: str
    partition: int | None = None
    measure: str = RECORDS

    name = "routes"

    @property
    def cursor(self) -> tuple[str, str] | None:
        """Row on which the cursor begins."""
        return None if self.partition is None else ("partitions", str(self.partition))

    def title(self, snapshot: Snapshot) -> str:
        """Returns route, topic and number of partitions."""
        found = self._partitions(snapshot)
        count = "not known" if found is None else f"{len(found)} partitions"
        return f"{self.route} > {self.topic}   {count}"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the table of partitions."""
        found = self._partitions(snapshot)
        empty = "no partitions"
        if found is None:
            empty = f"the partitions of {self.topic} on {self.route} are not known"
        return (
            Section(
                name="partitions",
                columns=columns_of(self.measure),
                rows=rows_of(found or (), self.route, self.measure),
                empty=empty,
                sort=("STATE", "-LAG", "PART"),
            ),
        )

    def actions(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[Action]:
        """Returns the orders about a partition."""
        found = self._partition(snapshot, row)
        number = None if found is None else found.partition
        parked = found is not None and found.parked is not None
        return topic_actions(self.route, self.topic, number, parked)

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns the figures of a partition that the columns have no room for."""
        found = self._partition(snapshot, row)
        # States outlast a server's silence for some seconds; its problem is there at once.
        problems = self._problems(snapshot, found.why if found else "")
        if found is None:
            return problems
        text = (
            f"{found.topic}-{found.partition}: {whole(found.mirrored_to)} of "
            f"{whole(found.source_end)}, trend {per_second(found.lag_per_second)}, "
            f"{short(found.records_per_second)} rec/s, {megabytes(found.bytes_per_second)} MB/s, "
            f"{carrier_text(found)}, custody {found.custody or '?'}"
        )
        if found.open_transaction_seconds:
            text += f", a transaction is open for {duration(found.open_transaction_seconds)}"
        return (text, *self._advice(snapshot, found), *problems)

    def focus(self) -> Focus:
        """Returns the topic: its ends are asked more often."""
        return Focus(topic=(self.route, self.topic))

    def _partitions(self, snapshot: Snapshot) -> Sequence[PartitionView] | None:
        for route in snapshot.routes:
            if route.route == self.route:
                topics = route.topics or ()
                return next((each.partitions for each in topics if each.topic == self.topic), None)
        return None

    def _problems(self, snapshot: Snapshot, why: str) -> tuple[str, ...]:
        """Returns what is in the way of the route, except what a reason says already."""
        found = (each.problems for each in snapshot.routes if each.route == self.route)
        return tuple(text for some in found for text in some if text not in why)

    def _advice(self, snapshot: Snapshot, found: PartitionView) -> tuple[str, ...]:
        """Returns what the balancer's last round says of a partition, unless its reason does."""
        name = f"{found.topic}-{found.partition}"
        return tuple(
            f"{alert.name}: {alert.text}"
            for view in snapshot.balance
            for stream in view.streams
            if stream.route == self.route
            for alert in stream.current_alerts
            if alert.text.startswith(f"{name} ") and alert.text not in found.why
        )

    def _partition(self, snapshot: Snapshot, row: Row | None) -> PartitionView | None:
        found = self._partitions(snapshot) or ()
        return next((each for each in found if row and row.key == str(each.partition)), None)


def partitions_section(routes: Iterable[RouteView]) -> Section:
    """Returns the table of the partitions of several routes, in their order.

    A route has a row of unknown cells where its topics are not known.
    """
    rows = [row for route in routes for row in _route_rows(route)]
    return Section("partitions", (ROUTE, TOPIC, *COLUMNS), rows, empty="no partitions")


def _route_rows(route: RouteView) -> Iterator[Row]:
    first, shown = text_cell(route.route), shown_in(RECORDS)
    if route.topics is None:
        unknown = [Cell(UNKNOWN)] * (1 + len(COLUMNS))
        yield Row(route.route, (first, *unknown), route=route.route)
    for topic in route.topics or ():
        for each in topic.partitions:
            row = partition_row(each, route.route, shown)
            yield replace(row, cells=(first, text_cell(topic.topic), *row.cells))


def columns_of(measure: str) -> tuple[Column, ...]:
    """Returns the columns, with the lag in a measure."""
    if measure == RECORDS:
        return COLUMNS
    unit = MEGABYTE if measure == BYTES else 1.0
    lag = Column("LAG", 6, LAG_MEANINGS[measure], is_right=True, priority=1, unit=unit)
    return tuple(lag if each.title == "LAG" else each for each in COLUMNS)


def rows_of(found: Sequence[PartitionView], route: str, measure: str) -> LazyRows[PartitionView]:
    """Returns the rows of partitions, each made when it is looked at."""
    shown = shown_in(measure)
    return LazyRows(
        items=found,
        make=lambda each: partition_row(each, route, shown),
        key=lambda each: str(each.partition),
        sorts=sorts_by(shown),
        is_fault=lambda each: is_fault(each.state),
        text=lambda each: (
            f"{each.topic}-{each.partition} {each.state} {each.host or ''} {each.why}"
        ),
    )


def shown_in(measure: str) -> Mapping[str, Shown[PartitionView]]:
    """Returns what each column shows, by its title, with the lag in a measure."""
    return SHOWN | {"LAG": LAGS[measure]}


def partition_row(
    each: PartitionView, route: str, shown: Mapping[str, Shown[PartitionView]]
) -> Row:
    """Returns the row of a partition.

    Args:
        shown: what each column shows, by its title.
    """
    return Row(
        key=str(each.partition),
        cells=tuple(shown[column.title].cell(each) for column in COLUMNS),
        is_fault=is_fault(each.state),
        why=each.why,
        route=route,
        topic=each.topic,
    )


def lag_in(each: PartitionView, measure: str) -> float | None:
    """Returns the lag in a measure; None where it is not known."""
    if measure == RECORDS:
        return each.lag_records
    if measure == SECONDS:
        return each.lag_seconds
    if each.lag_records == 0:
        return 0.0
    if not each.records_per_second or each.bytes_per_second is None or each.lag_records is None:
        return None
    return each.lag_records * each.bytes_per_second / each.records_per_second


def drain_text(each: PartitionView) -> str:
    """Returns the time to drain; "grows" where the lag does, "-" where nothing is carried."""
    if each.lag_records == 0:
        return "0 s"
    if each.drain_seconds is not None:
        return duration(each.drain_seconds)
    if each.lag_per_second is not None and each.lag_per_second > 0:
        return "grows"
    return "-" if each.parked is not None else "?"


def drain_sort(each: PartitionView) -> float | None:
    """Returns the time to drain; a lag that grows is the worst of those known."""
    text = drain_text(each)
    if text == "grows":
        return GROWS
    return 0.0 if text == "0 s" else each.drain_seconds


def carrier_cell(each: PartitionView) -> str:
    """Returns the carrier's number and host: "3 repl-c"."""
    if each.carrier is None:
        return "-" if each.parked is not None else "?"
    return f"{each.carrier} {each.host or ''}".rstrip()


def carrier_text(each: PartitionView) -> str:
    """Returns the carrier in a sentence."""
    if each.carrier is None:
        return "no carrier reports it"
    return f"carrier {each.carrier} on {each.host or 'a host not known'}"


LAGS: Mapping[str, Shown[PartitionView]] = {
    RECORDS: shown_by(lambda each: lag_in(each, RECORDS), count_cell),
    SECONDS: shown_by(lambda each: lag_in(each, SECONDS), seconds_cell),
    BYTES: shown_by(lambda each: lag_in(each, BYTES), megabytes_cell),
}
"""Value and cell of LAG, by its measure."""
SHOWN: dict[str, Shown[PartitionView]] = {
    "STATE": Shown(lambda each: ORDER[each.state], lambda each: state_cell(each.state)),
    "PART": shown_by(lambda each: each.partition, digits_cell),
    "SOURCE END": shown_by(lambda each: each.source_end, whole_cell),
    "MIRRORED TO": shown_by(lambda each: each.mirrored_to, whole_cell),
    "LAG": LAGS[RECORDS],
    "LAG S": shown_by(lambda each: each.lag_seconds, seconds_cell),
    "DRAIN": Shown(drain_sort, lambda each: Cell(drain_text(each), sort=drain_sort(each))),
    "CARRIER": Shown(
        lambda each: each.carrier, lambda each: Cell(carrier_cell(each), sort=each.carrier)
    ),
    "TREND": shown_by(
        lambda each: each.lag_per_second, lambda trend: number_cell(per_second(trend), trend)
    ),
    "REC/S": shown_by(lambda each: each.records_per_second, count_cell),
    "MB/S": shown_by(lambda each: each.bytes_per_second, megabytes_cell),
    "CUSTODY": Shown(lambda each: each.custody, lambda each: text_cell(each.custody or "?")),
    "OPEN TX": shown_by(lambda each: each.open_transaction_seconds, seconds_cell),
    "UNSTABLE": shown_by(lambda each: each.written_lag_records, count_cell),
    "WHY": shown_by(lambda each: each.why, text_cell),
}
"""Value and cell of each column, by its title."""
