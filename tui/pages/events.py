"""Page of the events of all regions, the newest first; turned round (S), the newest last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tui.facts.moments import clock_text, date_text
from tui.pages.figures import text_cell
from tui.pages.page import Cell, Column, Page, Row, Section
from tui.pages.rows import LazyRows, Shown, shown_by, sorts_by

if TYPE_CHECKING:
    from tui.facts.region_view import RegionEvent
    from tui.facts.snapshot import Snapshot

COLUMNS = (
    Column("TIME", 8, "time of day in UTC"),
    Column("REGION", 7, "its Redis has the event", priority=2),
    Column("LEVEL", 7, "info, warning, error", priority=1),
    Column("KIND", 16, "as in docs/operating.md; order, decision, plan, audit, alert"),
    Column("WHO", 16, "daemon, carrier, loader or operator", priority=3),
    Column("TEXT", 24, "details", grows=True),
    Column("RESULT", 10, "of what an operator did", priority=4),
)
LEVELS = {"error": 0, "critical": 0, "warning": 1}
TONES = {0: "bad", 1: "warn"}
INFO = 2


@dataclass(frozen=True, slots=True)
class EventsPage(Page):
    """Events.

    Args:
        about: name of a topic, group, feed or route that an event has to mention; "" for all.
        region: region that has them; "" for all.
    """

    follows: ClassVar[str] = "TIME"
    about: str = ""
    region: str = ""

    name = "events"

    def title(self, snapshot: Snapshot) -> str:
        """Returns the number of events, and what they are about."""
        if snapshot.events is None:
            return "events   not known yet"
        found = " ".join(filter(None, (self.region, self.about)))
        return f"events   {len(self._events(snapshot)):,}" + (f" about {found}" if found else "")

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the table of events."""
        empty = "no event" if snapshot.events is not None else "no region's Redis has answered yet"
        rows = LazyRows(
            items=self._events(snapshot),
            make=event_row,
            key=event_key,
            sorts=sorts_by(SHOWN),
            is_fault=is_fault,
            text=lambda each: f"{each.region} {each.kind} {each.who} {each.text} {each.result}",
        )
        return (Section("events", COLUMNS, rows, empty=empty, sort=("-TIME",)),)

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns when the event under the cursor was, and who told it."""
        found = next(
            (each for each in snapshot.events or () if row and event_key(each) == row.key), None
        )
        if found is None:
            return ()
        when = date_text(found.at_ms / 1000)
        return (f"{when} UTC, {found.region}: {found.level} {found.kind} by {found.who}",)

    @staticmethod
    def for_row(row: Row) -> EventsPage:
        """Returns the events of a row: of its topic, group, feed or route, or of its region."""
        about = row.topic or row.group or row.feed or row.route
        return EventsPage(about) if about else EventsPage(region=row.region or "")

    def _events(self, snapshot: Snapshot) -> Sequence[RegionEvent]:
        events = snapshot.events or ()
        if not self.about and not self.region:
            return events
        return [
            each
            for each in events
            if self.region in ("", each.region)
            and (self.about in each.text or self.about in each.who)
        ]


def event_key(event: RegionEvent) -> str:
    """Returns the key of an event's row."""
    return f"{event.region} {event.event_id}"


def is_fault(event: RegionEvent) -> bool:
    """Returns True for warnings and errors."""
    return event.level in LEVELS


def event_row(event: RegionEvent) -> Row:
    """Returns the row of an event."""
    return Row(
        key=event_key(event),
        cells=tuple(SHOWN[column.title].cell(event) for column in COLUMNS),
        is_fault=is_fault(event),
        why=event.text,
        region=event.region,
    )


def level_of(event: RegionEvent) -> int:
    """Returns the place of an event's level, the worst first."""
    return LEVELS.get(event.level, INFO)


SHOWN: dict[str, Shown[RegionEvent]] = {
    "TIME": shown_by(
        lambda each: float(each.at_ms), lambda ms: Cell(clock_text(ms / 1000), sort=ms)
    ),
    "REGION": shown_by(lambda each: each.region, text_cell),
    "LEVEL": Shown(
        level_of, lambda each: Cell(each.level, TONES.get(level_of(each), ""), level_of(each))
    ),
    "KIND": shown_by(lambda each: each.kind, text_cell),
    "WHO": shown_by(lambda each: each.who, text_cell),
    "TEXT": shown_by(lambda each: each.text, text_cell),
    "RESULT": shown_by(lambda each: each.result, text_cell),
}
"""Value and cell of each column, by its title."""
