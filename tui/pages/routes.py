"""Page of the routes: state, lag, rates and parked partitions of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.pages.figures import (
    count_cell,
    digits_cell,
    megabytes_cell,
    number_cell,
    per_second,
    seconds_cell,
    sparkline,
    text_cell,
)
from tui.pages.page import Cell, Column, Page, Row, Section
from tui.pages.states import ROUTE, STATE, is_fault, state_cell
from tui.pages.topics import DRAIN_MEANING, TopicsPage, drain_cell

if TYPE_CHECKING:
    from tui.facts.route_view import RouteView
    from tui.facts.snapshot import Snapshot

SPARK = 8
COLUMNS = (
    ROUTE,
    STATE,
    Column("LAG", 6, "source offsets that are not mirrored yet", is_right=True, priority=1),
    Column("LAG S", 5, "age of the oldest record not mirrored", is_right=True, priority=2),
    Column("DRAIN", 6, DRAIN_MEANING, is_right=True, priority=7),
    Column("REC/S", 6, "records mirrored per second", is_right=True, priority=3),
    Column("MB/S", 5, "megabytes mirrored per second", is_right=True, priority=6, unit=1e6),
    Column("PARKED", 6, "partitions that wait for an operator", is_right=True, priority=4),
    Column("LAG, 1 h", SPARK, "lag of the last hour; full height: its largest", priority=5),
    Column("RATE,1 h", SPARK, "records per second of the last hour", priority=8),
    Column("TREND", 9, "change of the lag, over the last minute", is_right=True, priority=9),
    Column("TOPICS", 6, "topics mirrored", is_right=True, priority=10),
    Column("DENIED", 6, "topics that are denied", is_right=True, priority=11, is_wide=True),
    Column("WHY", 20, "reason of the state", priority=12, grows=True),
)


@dataclass(frozen=True, slots=True)
class RoutesPage(Page):
    """Routes of the appliance."""

    name = "routes"

    def title(self, snapshot: Snapshot) -> str:
        """Returns the heading."""
        return f"routes   {len(snapshot.routes)} routes"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the table of routes."""
        return (routes_section(snapshot, COLUMNS),)

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns the topics of a route."""
        return TopicsPage(row.route) if row.route is not None else None

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns what is in the way of the route."""
        found = next((each for each in snapshot.routes if row and each.route == row.route), None)
        return [] if found is None else [text for text in found.problems if text != found.why]


def routes_section(
    snapshot: Snapshot, columns: tuple[Column, ...], rows_max: int | None = None
) -> Section:
    """Returns the table of routes with some of the columns of COLUMNS."""
    places = [COLUMNS.index(column) for column in columns]
    rows = []
    for route in snapshot.routes:
        cells = route_cells(route)
        rows.append(
            Row(
                key=route.route,
                cells=tuple(cells[at] for at in places),
                is_fault=is_fault(route.state),
                why=route.why,
                route=route.route,
                region=route.target,
            )
        )
    return Section(
        name="routes",
        columns=columns,
        rows=rows,
        empty="no route is known yet",
        sort=("STATE", "-LAG", "ROUTE"),
        rows_max=rows_max,
    )


def route_cells(route: RouteView) -> tuple[Cell, ...]:
    """Returns the cells of COLUMNS."""
    topics = route.topics
    parked = None if topics is None else route.parked_partitions
    known = None if topics is None else len(topics)
    lags, rates = route.lag_history, route.rate_history
    return (
        text_cell(route.route, "bold"),
        state_cell(route.state),
        count_cell(route.lag_records),
        seconds_cell(route.lag_seconds),
        drain_cell(route),
        count_cell(route.records_per_second),
        megabytes_cell(route.bytes_per_second),
        count_cell(parked, "bad" if parked else ""),
        Cell(sparkline(lags, SPARK), sort=_last(lags)),
        Cell(sparkline(rates, SPARK), sort=_last(rates)),
        number_cell(per_second(route.lag_per_second), route.lag_per_second),
        digits_cell(known),
        digits_cell(route.denied_topics),
        text_cell(route.why),
    )


def _last(values: Sequence[float | None]) -> float | None:
    return values[-1] if values else None
