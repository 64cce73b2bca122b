"""Page of all feeds: topics that are loaded into ClickHouse and S3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.facts.feed_health import feed_health
from tui.pages.feed import FEED, WHY, FeedPage
from tui.pages.feed_figures import (
    ABSENT,
    AGE,
    DEAD,
    LAG,
    LAG_SECONDS,
    OPEN_SECONDS,
    PARKED,
    ROWS,
    WINDOW,
)
from tui.pages.feed_orders import feed_actions
from tui.pages.figures import digits_cell, number_cell, text_cell
from tui.pages.page import Action, Column, Page, Row, Section
from tui.pages.states import STATE, is_fault, state_cell

if TYPE_CHECKING:
    from replicator.orders.order_records import Order
    from tui.facts.feed_status import FeedView
    from tui.facts.snapshot import Snapshot

PARTS = Column("PARTS", 5, "partitions", is_right=True, priority=10)
FIGURES = (LAG, LAG_SECONDS, ROWS, PARKED, DEAD, AGE, WINDOW, OPEN_SECONDS)
COLUMNS = (
    STATE,
    FEED,
    Column("REGION", 7, "its aggregator loads it", priority=7),
    Column("SHARDS", 6, "shards of ClickHouse, or S3", is_right=True, priority=9),
    PARTS,
    *(figure.column for figure in FIGURES),
    WHY,
)
NO_FEEDS = "no feed is configured: a table [feeds.<name>] makes one"


@dataclass(frozen=True, slots=True)
class FeedsPage(Page):
    """All feeds."""

    name = "feeds"

    def title(self, snapshot: Snapshot) -> str:
        """Returns the number of feeds."""
        return f"feeds   {len(snapshot.feeds)}"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the table of feeds."""
        is_known = bool(snapshot.regions or snapshot.feeds)
        return (
            Section(
                "feeds",
                COLUMNS,
                [feed_row(each) for each in snapshot.feeds],
                empty=NO_FEEDS if is_known else "nothing is known yet",
                sort=("STATE", "-LAG", "FEED"),
            ),
        )

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns the page of the feed."""
        return FeedPage(row.key)

    def actions(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[Action]:
        """Returns the orders about the feed under the cursor."""
        return feed_actions(_feed_of(snapshot, row))

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns the orders that hold, and the problems of the feed under the cursor."""
        feed = _feed_of(snapshot, row)
        return () if feed is None else tuple(feed_notes(feed))


def _feed_of(snapshot: Snapshot, row: Row | None) -> FeedView | None:
    return next((each for each in snapshot.feeds if row and row.key == each.feed), None)


def feed_row(feed: FeedView) -> Row:
    """Returns the row of a feed."""
    health, parts = feed_health(feed), feed.partitions
    # A cluster that is unknown has partitions of which nothing is known.
    known = () if feed.unknown_clusters else parts
    missing = WINDOW if feed.is_of_objects else OPEN_SECONDS
    return Row(
        key=feed.feed,
        cells=(
            state_cell(health.state),
            text_cell(feed.feed),
            text_cell(feed.region),
            number_cell("S3" if feed.is_of_objects else str(len(feed.shards)), len(feed.shards)),
            digits_cell(len(parts)),
            *(ABSENT if figure is missing else figure.cell(known) for figure in FIGURES),
            text_cell(health.why),
        ),
        is_fault=is_fault(health.state),
        why=health.why,
        feed=feed.feed,
        region=feed.region,
    )


def feed_notes(feed: FeedView) -> Iterator[str]:
    """Yields upsert tables, orders, then problems."""
    for table in feed.upsert_tables:
        age = "" if table.age_seconds is None else f", {table.age_seconds:,.0f} s old"
        tick = "?" if table.tick is None else table.tick
        yield f"upsert table {table.table}: tick {tick}{age}: sluice upsert status tells more"
    for order in feed.orders or ():
        yield f"order: {order_note(order)}"
    yield from (f"problem: {text}" for text in feed.problems)


def order_note(order: Order) -> str:
    """Returns an order with who gave it, and why."""
    # Not at the top: pydantic would be loaded before the first frame.
    from tui.facts.order_words import order_text

    return f"{order_text(order)}, by {order.who}: {order.why}"
