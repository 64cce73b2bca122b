"""Page of one alert: its details, and the command that goes deeper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.facts.alert import AlertState
from tui.facts.moments import date_text
from tui.pages.ages import age_text
from tui.pages.figures import text_cell
from tui.pages.page import Action, Cell, Column, Field, Page, Row, Section
from tui.steering.steered_command import as_argument, as_typed

if TYPE_CHECKING:
    from tui.facts.alert import Alert
    from tui.facts.snapshot import Snapshot

NO_ALERT = "no alert under the cursor"
YES = "yes"
FACTS = (
    Column("FACT", 8, "what is told"),
    Column("VALUE", 40, "text", grows=True),
)
DETAILS = (Column("DETAILS", 40, "rows of an audit, entries, partitions, groups", grows=True),)


@dataclass(frozen=True, slots=True)
class AlertPage(Page):
    """Alert, by its key."""

    key: str

    name = "alerts"

    @property
    def cursor(self) -> tuple[str, str]:
        """Row on which the cursor begins."""
        return "details", "0"

    def title(self, snapshot: Snapshot) -> str:
        """Returns level, state and key."""
        alert = alert_of(snapshot, self.key)
        if alert is None:
            return f"alert {self.key}   ended more than an hour ago"
        return f"alert {self.key}   {alert.level} {alert.state}"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the facts, and the rows with details."""
        alert = alert_of(snapshot, self.key)
        facts = () if alert is None else tuple(alert_facts(alert, now))
        details = () if alert is None else alert.rows
        return (
            Section("facts", FACTS, [fact_row(*each) for each in facts], empty="nothing is known"),
            Section(
                "details",
                DETAILS,
                [
                    Row(key=str(at), cells=(Cell(text, sort=float(at)),), why=text)
                    for at, text in enumerate(details)
                ],
                empty="there is no more to tell",
            ),
        )

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns the page of the partition, topic, route or feed that the alert is about."""
        alert = alert_of(snapshot, self.key)
        return None if alert is None else cause_page(snapshot, alert)

    def actions(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[Action]:
        """Returns the actions on the alert."""
        return alert_actions(alert_of(snapshot, self.key))

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns the command that goes deeper."""
        alert = alert_of(snapshot, self.key)
        if alert is None or not alert.command:
            return ()
        return (f"goes deeper: {as_typed(alert.command)}",)


def alert_of(snapshot: Snapshot, key: str) -> Alert | None:
    """Returns the alert of a key; None when there is none any more."""
    return next((each for each in snapshot.alerts or () if each.key == key), None)


def fact_row(name: str, value: str) -> Row:
    """Returns the row of a fact."""
    return Row(key=name, cells=(text_cell(name, "dim"), text_cell(value)), why=value)


def alert_facts(alert: Alert, now: float) -> Iterator[tuple[str, str]]:
    """Yields names and values of what is known of an alert itself."""
    yield "text", alert.text
    if alert.about:
        yield "about", " ".join(alert.about)
    began = alert.since_ms / 1000
    yield "since", f"{date_text(began)} UTC, {age_text(now - began)} ago"
    if alert.ended_ms is not None:
        ended = alert.ended_ms / 1000
        yield "ended", f"{date_text(ended)} UTC, {age_text(now - ended)} ago"
    if alert.who is not None:
        until = "" if alert.until_ms is None else f" until {date_text(alert.until_ms / 1000)} UTC"
        yield "seen", f"{alert.state}{until} by {alert.who}: {alert.why}"


def alert_actions(alert: Alert | None) -> Sequence[Action]:
    """Returns the actions on an alert."""
    why_off = NO_ALERT if alert is None else None
    if alert is not None and alert.state is AlertState.RESOLVED:
        why_off = "the alert has ended"
    target: tuple[str, ...] = ()
    extent: tuple[str, ...] = ()
    if alert is not None and alert.extent is not None:
        extent = ("--extent", str(alert.extent))
    if alert is not None:
        target = ("--region", alert.region, *as_argument(alert.key))
    reason = Field("reason", "--reason", help="recorded, and shown to other operators")
    length = Field("for", "--for", "2h", help="such as 30m, 2h or 7d")
    is_given = alert is not None and alert.state in (AlertState.ACKNOWLEDGED, AlertState.SILENCED)
    words = alert.command if alert else ()
    nothing = None if words else "no command goes deeper"
    return (
        Action(
            "K",
            "acknowledge",
            ("alerts", "acknowledge", *extent, *target),
            (reason,),
            YES,
            why_off,
        ),
        Action("Z", "silence", ("alerts", "silence", *target), (length, reason), YES, why_off),
        Action(
            "O",
            "reopen",
            ("alerts", "reopen", *target),
            confirmation=YES,
            why_off=why_off or (None if is_given else "nobody has acknowledged or silenced it"),
        ),
        Action(
            "D",
            "deeper",
            words,
            why_off=(NO_ALERT if alert is None else nothing),
            is_copied=True,
        ),
    )


def cause_page(snapshot: Snapshot, alert: Alert) -> Page | None:
    """Returns the page of what an alert is about, as close as it is known."""
    from tui.pages.balance import BalancePage
    from tui.pages.feed import FeedPage
    from tui.pages.groups import GroupsPage
    from tui.pages.partitions import PartitionsPage
    from tui.pages.topics import TopicsPage

    if alert.feed is not None:
        return FeedPage(alert.feed, alert.cluster, alert.topic, alert.partition)
    if alert.kind == "group":
        return GroupsPage()
    routes = {each.route for each in snapshot.routes}
    route = next((each for each in (alert.route, *alert.about) if each in routes), None)
    if route is not None and alert.topic is not None:
        return PartitionsPage(route, alert.topic, alert.partition)
    if alert.kind == "balance":
        return BalancePage()
    return TopicsPage(route) if route is not None else None
