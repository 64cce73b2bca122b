"""Page of the topics of a route."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui.facts.route_view import custody_counts
from tui.pages.figures import (
    UNKNOWN,
    count_cell,
    digits_cell,
    duration,
    number_cell,
    per_second,
    seconds_cell,
    text_cell,
)
from tui.pages.page import Action, Cell, Column, Page, Row, Section
from tui.pages.partitions import GROWS, PartitionsPage
from tui.pages.states import ROUTE, STATE, TOPIC, is_fault, state_cell
from tui.pages.stream_orders import topic_actions

if TYPE_CHECKING:
    from tui.facts.route_view import RouteView, TopicView
    from tui.facts.snapshot import Snapshot

DRAIN_MEANING = 'time until the lag is gone; "grows": that of a partition does not shrink'
COLUMNS = (
    STATE,
    TOPIC,
    Column("PARTS", 5, "partitions", is_right=True, priority=2),
    Column("LAG", 7, "source offsets that are not mirrored yet", is_right=True, priority=1),
    Column("LAG S", 6, "age of the oldest record not mirrored", is_right=True, priority=3),
    Column("DRAIN", 6, DRAIN_MEANING, is_right=True, priority=6),
    Column("REC/S", 7, "records mirrored per second", is_right=True, priority=4),
    Column("PARKED", 6, "partitions that wait for an operator", is_right=True, priority=5),
    Column("UNKNOWN", 7, "partitions whose lag is not known", is_right=True, priority=7),
    Column("TREND", 9, "change of the lag, over the last minute", is_right=True, priority=8),
    Column("PLAN", 12, "state of the topic by the topic plan", priority=9),
    Column("WHY", 20, "reason of the state", priority=10, grows=True),
    Column("CUSTODY", 20, "partitions by custody in the ledger", priority=11, is_printed_only=True),
)


@dataclass(frozen=True, slots=True)
class TopicsPage(Page):
    """Topics of one route."""

    route: str

    name = "routes"

    def title(self, snapshot: Snapshot) -> str:
        """Returns route and number of topics."""
        found = route_of(snapshot, self.route)
        topics = None if found is None else found.topics
        count = "topics not known" if topics is None else f"{len(topics)} topics"
        return f"{self.route}   {count}"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the table of topics."""
        found = route_of(snapshot, self.route)
        topics = () if found is None else found.topics or ()
        empty = "no topics"
        if found is None:
            empty = f"the route {self.route} is not known"
        elif found.topics is None:
            empty = f"topics are not known: {found.why or 'the source did not list them'}"
        rows = [topic_row(each, self.route) for each in topics]
        return (Section("topics", COLUMNS, rows, empty=empty, sort=("STATE", "-LAG", "TOPIC")),)

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns the partitions of a topic."""
        return PartitionsPage(self.route, row.topic) if row.topic is not None else None

    def actions(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[Action]:
        """Returns the orders about a topic."""
        topic = self._topic(snapshot, row)
        parked = topic is not None and topic.parked_partitions != 0
        return topic_actions(self.route, row.topic if row else None, None, parked)

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns the notes of the topic plan, and what is in the way of the route."""
        found = route_of(snapshot, self.route)
        if found is None:
            return ()
        topic = self._topic(snapshot, row)
        notes = [f"plan: {text}" for text in topic.notes] if topic is not None else []
        return [*notes, *found.problems]

    def _topic(self, snapshot: Snapshot, row: Row | None) -> TopicView | None:
        found = route_of(snapshot, self.route)
        topics = () if found is None else found.topics or ()
        return next((each for each in topics if row and each.topic == row.topic), None)


def topics_section(routes: Iterable[RouteView]) -> Section:
    """Returns the table of the topics of several routes, in their order.

    A route has a row of unknown cells where its topics are not known.
    """
    rows = [row for route in routes for row in _route_rows(route)]
    return Section("topics", (ROUTE, *COLUMNS), rows, empty="no topics")


def _route_rows(route: RouteView) -> Iterator[Row]:
    first = text_cell(route.route)
    if route.topics is None:
        yield Row(route.route, (first, *[Cell(UNKNOWN)] * len(COLUMNS)), route=route.route)
    for topic in route.topics or ():
        row = topic_row(topic, route.route)
        yield replace(row, cells=(first, *row.cells))


def route_of(snapshot: Snapshot, name: str) -> RouteView | None:
    """Returns a route by its name."""
    return next((each for each in snapshot.routes if each.route == name), None)


def drain_cell(each: TopicView | RouteView) -> Cell:
    """Returns the time until the lag of the slowest partition is gone."""
    if each.drain_seconds is not None:
        return Cell(duration(each.drain_seconds), sort=each.drain_seconds)
    # A time is lacking although all lags and their changes are known: one does not shrink.
    if each.lag_records is not None and each.lag_per_second is not None:
        return Cell("grows", sort=GROWS)
    return number_cell(duration(None), None)


def topic_row(topic: TopicView, route: str) -> Row:
    """Returns the row of a topic."""
    partitions = len(topic.partitions) or None
    parked, unknown = topic.parked_partitions, topic.unknown_partitions
    return Row(
        key=topic.topic,
        cells=(
            state_cell(topic.state),
            text_cell(topic.topic),
            digits_cell(partitions),
            count_cell(topic.lag_records),
            seconds_cell(topic.lag_seconds),
            drain_cell(topic),
            count_cell(topic.records_per_second),
            count_cell(parked, "bad" if parked else ""),
            digits_cell(unknown, "warn" if unknown else ""),
            number_cell(per_second(topic.lag_per_second), topic.lag_per_second),
            text_cell(", ".join(topic.states) or UNKNOWN),
            text_cell(topic.why),
            text_cell(custody_counts(topic) or UNKNOWN),
        ),
        is_fault=is_fault(topic.state),
        why=topic.why,
        route=route,
        topic=topic.topic,
    )
