"""Page of all alerts: open, acknowledged, silenced, resolved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.facts.alert import LEVELS, STATES, AlertState, Level
from tui.facts.moments import iso_zulu_text, utc_text
from tui.pages.ages import age_text
from tui.pages.alert import AlertPage, alert_actions, alert_of
from tui.pages.figures import text_cell
from tui.pages.page import Action, Cell, Column, Page, Row, Section

if TYPE_CHECKING:
    from tui.facts.alert import Alert
    from tui.facts.snapshot import Snapshot

COLUMNS = (
    Column("LEVEL", 5, "PAGE: now; WARN: today"),
    Column(
        "STATE",
        9,
        "open; acked: acknowledged until it ends; silenced until a time; resolved within an hour",
        priority=1,
    ),
    Column("ALERT", 30, "text", grows=True),
    Column("FOR", 9, "time since it began; of a resolved one, since it ended", True, priority=2),
    Column("ABOUT", 20, "routes, feeds or groups that it touches", priority=4),
    Column("WHO", 14, "acknowledged or silenced it", priority=5),
    Column("KIND", 9, "what found it", priority=6),
    Column("REGION", 7, "its Redis keeps the acknowledgement", priority=7),
    Column("KEY", 20, "names the alert in commands", priority=8, is_printed_only=True),
    Column("SINCE", 20, "when it began", priority=9, is_printed_only=True),
)
STATE_TEXTS = {AlertState.ACKNOWLEDGED: "acked"}
LEVEL_TONES = {Level.PAGE: "bad", Level.WARN: "warn"}


@dataclass(frozen=True, slots=True)
class AlertsPage(Page):
    """All alerts, worst first."""

    name = "alerts"

    def title(self, snapshot: Snapshot) -> str:
        """Returns the number of alerts by state."""
        if snapshot.alerts is None:
            return "alerts   not known yet"
        counts = Counter(each.state for each in snapshot.alerts)
        found = [f"{counts[state]} {state}" for state in AlertState if counts[state]]
        return f"alerts   {', '.join(found) or 'none'}"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the table of alerts."""
        return (alerts_section(snapshot.alerts, now),)

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns the page of the alert."""
        return AlertPage(row.key) if alert_of(snapshot, row.key) is not None else None

    def actions(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[Action]:
        """Returns the actions on the alert under the cursor."""
        return alert_actions(alert_of(snapshot, row.key) if row is not None else None)

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns the whole text of the alert, and who acknowledged it."""
        alert = alert_of(snapshot, row.key) if row is not None else None
        return () if alert is None else tuple(alert_notes(alert))


def alerts_section(alerts: Sequence[Alert] | None, now: float) -> Section:
    """Returns the table of alerts; of None it says that they are not known yet."""
    return Section(
        "alerts",
        COLUMNS,
        [alert_row(each, now) for each in alerts or ()],
        empty="no alert" if alerts is not None else "alerts are not known yet",
        sort=("STATE", "LEVEL", "-FOR"),
    )


def alert_row(alert: Alert, now: float) -> Row:
    """Returns the row of an alert."""
    begin_ms = alert.since_ms if alert.ended_ms is None else alert.ended_ms
    age = now - begin_ms / 1000
    is_open = alert.state is AlertState.OPEN
    level, state = alert.level, alert.state
    return Row(
        key=alert.key,
        cells=(
            Cell(level.value, LEVEL_TONES[level] if is_open else "dim", LEVELS[level]),
            Cell(
                STATE_TEXTS.get(state, state.value),
                "" if is_open else "dim",
                STATES[state],
                state.value,
            ),
            text_cell(alert.text, "" if is_open else "dim"),
            Cell(age_text(age), sort=age),
            text_cell(" ".join(alert.about)),
            text_cell(alert.who or "-"),
            text_cell(alert.kind),
            text_cell(alert.region),
            text_cell(alert.key),
            text_cell(iso_zulu_text(alert.since_ms)),
        ),
        is_fault=is_open,
        why=alert.text,
        route=alert.route or next((each for each in alert.about if ">" in each), None),
        topic=alert.topic,
        feed=alert.feed,
        region=alert.region,
    )


def alert_notes(alert: Alert) -> Iterator[str]:
    """Yields who acknowledged an alert, why, and until when; then when it ended."""
    if alert.who is not None:
        until = "" if alert.until_ms is None else f" until {utc_text(alert.until_ms)}"
        yield f"{alert.state}{until} by {alert.who}: {alert.why}"
    if alert.ended_ms is not None:
        yield f"ended at {utc_text(alert.ended_ms)}"
