"""Page of the whole appliance: regions, routes, open alerts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tui.facts.alert import LEVELS, AlertState
from tui.facts.region_view import COPIES_STALE_SECONDS, NO_RIGHT, SILENT
from tui.pages.ages import age_text
from tui.pages.alert import AlertPage, cause_page
from tui.pages.alerts import LEVEL_TONES
from tui.pages.events import EventsPage
from tui.pages.figures import text_cell
from tui.pages.page import Cell, Column, Page, Row, Section
from tui.pages.routes import COLUMNS as ROUTE_COLUMNS
from tui.pages.routes import routes_section
from tui.pages.topics import TopicsPage

if TYPE_CHECKING:
    from tui.facts.alert import Alert
    from tui.facts.region_view import DaemonView, RegionView
    from tui.facts.snapshot import Snapshot

ROUTES_MAX = 8
REGION_COLUMNS = (
    Column("REGION", 7, "region"),
    Column("DAEMONS", 37, "ok, MISSING (no card), ? (its Redis is silent)", grows=True),
    Column("KAFKA", 6, "regional and aggregate cluster", priority=1),
    Column("REDIS", 6, "Redis of the region; denied: no right to read there", priority=2),
    Column("COPIES", 6, "age of the oldest copy of another region's commits", priority=3),
    Column("VERSION", 7, "of its daemons", priority=4),
)
ALERT_COLUMNS = (
    Column("LEVEL", 5, "PAGE: now; WARN: today"),
    Column("ALERT", 30, "text", grows=True),
    Column("FOR", 9, "time since it began", is_right=True, priority=1),
    Column("ABOUT", 20, "routes, feeds or groups that it touches", priority=2),
)
ROUTE_TITLES = (
    "ROUTE",
    "STATE",
    "LAG",
    "LAG S",
    "REC/S",
    "MB/S",
    "PARKED",
    "LAG, 1 h",
    "RATE,1 h",
    "WHY",
)
OVERVIEW_ROUTES = tuple(each for each in ROUTE_COLUMNS if each.title in ROUTE_TITLES)
STATE_TEXTS = {"runs": ("ok", ""), "missing": ("MISSING", "bad"), "unknown": ("?", "warn")}
SERVER_TONES = {"ok": "", "silent": "bad"}
SERVER_TEXTS = {"unknown": "?", NO_RIGHT: "denied"}


@dataclass(frozen=True, slots=True)
class OverviewPage(Page):
    """Regions, routes and open alerts; the cursor begins on the worst of them.

    Actions are on the pages of what they change.
    """

    begins: ClassVar[tuple[str, ...]] = ("alerts", "routes")

    name = "overview"

    def title(self, snapshot: Snapshot) -> str:
        """Returns how much there is."""
        return f"overview   {len(snapshot.regions)} regions, {len(snapshot.routes)} routes"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the tables of regions, routes and alerts."""
        return (
            Section(
                "regions",
                REGION_COLUMNS,
                [region_row(each) for each in snapshot.regions],
                empty="no region is known yet",
            ),
            routes_section(snapshot, OVERVIEW_ROUTES, ROUTES_MAX),
            alerts_section(snapshot, now),
        )

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns where the cause of a row is; of a region, its events."""
        alert = next((each for each in snapshot.alerts or () if each.key == row.key), None)
        if alert is not None:
            return cause_of(snapshot, alert)
        if row.route is not None:
            return TopicsPage(row.route)
        is_region = any(each.region == row.key for each in snapshot.regions)
        return EventsPage(region=row.key) if is_region else None

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns the problems of a region, or the whole text of an alert."""
        if row is None:
            return ()
        found = next((each for each in snapshot.regions if each.region == row.key), None)
        if found is not None and row.route is None:
            return [*found.problems, *(daemon_note(each) for each in found.daemons if each.doing)]
        return ()


def cause_of(snapshot: Snapshot, alert: Alert) -> Page:
    """Returns the page with the cause of an alert: its partition, its topics, or itself."""
    # The rows of an audit are in the alert, and not where it happened.
    cause = None if alert.kind == "audit" else cause_page(snapshot, alert)
    return AlertPage(alert.key) if cause is None else cause


def region_row(region: RegionView) -> Row:
    """Returns the row of a region."""
    kafka = kafka_text(region)
    versions = sorted({each.version for each in region.daemons if each.version})
    missing = any(each.state != "runs" for each in region.daemons if is_configured(each))
    age = region.copies_age_seconds
    is_stale = age is not None and age > COPIES_STALE_SECONDS
    copies = "STALE" if is_stale else age_text(age)
    is_bad = missing or kafka != "ok" or region.redis != "ok"
    return Row(
        key=region.region,
        cells=(
            text_cell(region.region, "bold"),
            text_cell(daemons_text(region.daemons), "bad" if missing else ""),
            text_cell(kafka, SERVER_TONES.get(kafka, "bad" if kafka != "?" else "warn")),
            text_cell(server_text(region.redis), SERVER_TONES.get(region.redis, "warn")),
            Cell(copies, "bad" if is_stale else "warn" if age is None else "", age),
            text_cell(", ".join(versions) or "?", "warn" if len(versions) != 1 else ""),
        ),
        is_fault=is_bad or is_stale,
        why="; ".join(region.problems[:1]),
        region=region.region,
    )


def is_configured(daemon: DaemonView) -> bool:
    """Returns True for a daemon that should run."""
    return daemon.state != "not configured"


def daemons_text(daemons: Sequence[DaemonView]) -> str:
    """Returns the state of each daemon: "replicate ok  offsets MISSING"."""
    found = [
        f"{each.role} {STATE_TEXTS.get(each.state, (each.state, ''))[0]}"
        for each in daemons
        if is_configured(each)
    ]
    return "  ".join(found) or "?"


def daemon_note(daemon: DaemonView) -> str:
    """Returns what a daemon does, and where."""
    return f"{daemon.role} on {daemon.host or '?'}, pid {daemon.pid or '?'}: {daemon.doing}"


def server_text(state: str) -> str:
    """Returns the state of a server: ok, silent, denied or "?"."""
    return SERVER_TEXTS.get(state, state)


def kafka_text(region: RegionView) -> str:
    """Returns the state of both clusters: the one that is silent is named."""
    states = {"regional": region.regional, "aggreg.": region.aggregate}
    silent = [name for name, state in states.items() if state == SILENT]
    if silent:
        return "silent" if len(silent) == 2 else f"{silent[0][:6]}?"
    if NO_RIGHT in states.values():
        return server_text(NO_RIGHT)
    return "?" if "unknown" in states.values() else "ok"


def alerts_section(snapshot: Snapshot, now: float) -> Section:
    """Returns the table of open alerts, the worst first."""
    alerts = snapshot.alerts
    shown = [each for each in alerts or () if each.state is AlertState.OPEN]
    counts = Counter(each.state for each in alerts or ())
    others = [
        f"{counts[state]} {state.value}"
        for state in (AlertState.ACKNOWLEDGED, AlertState.SILENCED)
        if counts[state]
    ]
    heading = "ALERTS not known yet" if alerts is None else f"ALERTS {len(shown)} open"
    return Section(
        "alerts",
        ALERT_COLUMNS,
        [alert_row(each, now) for each in shown],
        heading=", ".join([heading, *others]),
        empty="alerts are not known" if alerts is None else "no open alert",
        sort=("LEVEL", "-FOR"),
    )


def alert_row(alert: Alert, now: float) -> Row:
    """Returns the row of an alert."""
    age = now - alert.since_ms / 1000
    return Row(
        key=alert.key,
        cells=(
            Cell(alert.level.value, LEVEL_TONES[alert.level], LEVELS[alert.level]),
            text_cell(alert.text),
            Cell(age_text(age), sort=age),
            text_cell(" ".join(alert.about)),
        ),
        is_fault=True,
        why=alert.text,
        route=next((each for each in alert.about if ">" in each), None),
        topic=alert.topic,
        region=alert.region,
    )
