"""Page of all feeds: topics that are loaded into ClickHouse and S3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.facts.feed_health import feed_health
from tui.facts.totals import largest, total
from tui.pages.feed import FeedPage, percent, percent_tone
from tui.pages.feed_orders import feed_actions
from tui.pages.figures import duration, number_cell, seconds, short, text_cell
from tui.pages.page import NO_FOCUS, Action, Cell, Column, Focus, Page, Row, Section
from tui.pages.states import STATE, is_fault, state_cell

if TYPE_CHECKING:
    from tui.facts.feed_status import FeedView
    from tui.facts.snapshot import Snapshot

COLUMNS = (
    STATE,
    Column("FEED", 14, "name in the configuration", grows=True),
    Column("REGION", 7, "its aggregator loads it", priority=5),
    Column("SHARDS", 6, "shards of ClickHouse, or S3", is_right=True, priority=7),
    Column("P", 5, "partitions", is_right=True, priority=8),
    Column("LAG", 7, "offsets that are not known to be loaded", is_right=True),
    Column("SEC", 6, "age of the records loaded last", is_right=True, priority=1),
    Column("ROWS/S", 7, "rows stored per second", is_right=True, priority=2),
    Column("PARKED", 6, "partitions that wait for an operator", is_right=True, priority=3),
    Column("DEAD", 6, "records that became dead letters, ever", is_right=True, priority=6),
    Column("INTENT", 7, "age of the oldest block on its way", is_right=True, priority=4),
    Column("WINDOW", 6, "part of the deduplication window passed", is_right=True, priority=4),
    Column("OLDEST", 7, "age of the oldest open object, in S3", is_right=True, priority=7),
    Column("WHY", 20, "reason of the state", priority=9, grows=True),
)
NO_FEEDS = "no feed is configured: a table [feeds.<name>] makes one"


@dataclass(frozen=True, slots=True)
class FeedsPage:
    """All feeds."""

    @property
    def name(self) -> str:
        return "feeds"

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

    def focus(self) -> Focus:
        """Returns none."""
        return NO_FOCUS


def _feed_of(snapshot: Snapshot, row: Row | None) -> FeedView | None:
    return next((each for each in snapshot.feeds if row and row.key == each.feed), None)


def feed_row(feed: FeedView) -> Row:
    """Returns the row of a feed."""
    health, parts = feed_health(feed), feed.partitions
    # A cluster that is unknown has partitions whose lag is unknown as well.
    is_whole = bool(parts) and not feed.unknown_clusters
    lag = total(each.lag_records for each in parts) if is_whole else None
    late = largest(each.lag_seconds for each in parts) if is_whole else None
    rate = total(each.rows_per_second for each in parts) if is_whole else None
    dead = total(each.dead_letters for each in parts) if is_whole else None
    parked = total(each.parked_count for each in parts) if is_whole else None
    is_idle = is_whole and all(each.blocks == () for each in parts)
    ages = [None if each.blocks is None else each.intent_age_seconds or 0.0 for each in parts]
    age = largest(ages)
    used = largest(each.window_used for each in parts if each.blocks != ())
    oldest = largest(each.open_seconds for each in parts) if is_whole else None
    return Row(
        key=feed.feed,
        cells=(
            state_cell(health.state),
            text_cell(feed.feed),
            text_cell(feed.region),
            number_cell("S3" if feed.is_of_objects else str(len(feed.shards)), len(feed.shards)),
            number_cell(str(len(parts)), len(parts)),
            number_cell(short(lag), lag),
            number_cell(seconds(late), late),
            number_cell(short(rate), rate),
            number_cell(short(parked), parked, "bad" if parked else ""),
            number_cell(short(dead), dead),
            Cell("-", sort=0.0) if is_idle else number_cell(duration(age), age),
            Cell("-", sort=0.0)
            if is_idle or feed.is_of_objects
            else number_cell(percent(used), used, percent_tone(used)),
            number_cell(duration(oldest), oldest) if feed.is_of_objects else Cell("-", sort=0.0),
            text_cell(health.why),
        ),
        is_fault=is_fault(health.state),
        why=health.why,
        feed=feed.feed,
        region=feed.region,
    )


def feed_notes(feed: FeedView) -> Iterator[str]:
    """Yields orders, then problems."""
    for order in feed.orders or ():
        yield f"order: {order.kind} by {order.who}: {order.why}"
    yield from (f"problem: {text}" for text in feed.problems)
