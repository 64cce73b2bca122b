"""Contents of each page of the console, without its drawing: they are those of the stored files.

Frames show what fits on a screen; these files have all cells, and the notes and actions of each
row. To rewrite them after an intended change, run this once with REWRITE_SNAPSHOTS=1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tui.console.running import FakeJob
from tests.tui.console.snapshots import NOW, empty, region_gone
from tests.tui.console.values.feeds import object_feed
from tests.tui.output import replication
from tests.tui.output.stored import assert_stored
from tests.tui.output.troubles import troubles
from tests.tui.pages.finding_snapshots import PARKED, RESOLVED, SILENCED, busy_feed
from tui.facts.snapshot import Snapshot
from tui.pages.alert import AlertPage
from tui.pages.alerts import AlertsPage
from tui.pages.balance import BalancePage
from tui.pages.events import EventsPage
from tui.pages.failover import FailoverPage
from tui.pages.feed import FeedPage
from tui.pages.feeds import FeedsPage
from tui.pages.group import GroupPage
from tui.pages.groups import GroupsPage
from tui.pages.jobs import JobPage, JobsPage
from tui.pages.overview import OverviewPage
from tui.pages.page import Action, Page, Row
from tui.pages.partitions import BYTES, SECONDS, PartitionsPage
from tui.pages.plan import PlanPage
from tui.pages.routes import RoutesPage
from tui.pages.stream import StreamPage
from tui.pages.topics import TopicsPage

STORED = Path(__file__).parent / "tui" / "output" / "pages"


def jobs() -> list[FakeJob]:
    return [
        FakeJob("job-2", "sluice balance apply"),
        FakeJob("job-1", "sluice failover apply p1", state="lost", meaning="not known"),
    ]


PAGES: dict[str, Page] = {
    "overview": OverviewPage(),
    "routes": RoutesPage(),
    "topics": TopicsPage("west>east"),
    "topics_unknown": TopicsPage("north>east"),
    "partitions": PartitionsPage("west>east", "orders"),
    "partitions_parked": PartitionsPage("west>east", "clicks"),
    "partitions_seconds": PartitionsPage("west>east", "orders", 17, measure=SECONDS),
    "partitions_bytes": PartitionsPage("west>east", "orders", measure=BYTES),
    "groups": GroupsPage(),
    "groups_of_topic": GroupsPage("trades"),
    "group": GroupPage("billing", "west", "east"),
    "failover": FailoverPage(),
    "plan": PlanPage("20261121-143639-f1fd"),
    "plan_blocked": PlanPage("blocked"),
    "plan_held_back": PlanPage("part"),
    "plan_expired": PlanPage("old"),
    "plan_broken": PlanPage("broken"),
    "balance": BalancePage(),
    "stream": StreamPage("east>west", "default"),
    "stream_held": StreamPage("east>west", "held"),
    "stream_blind": StreamPage("east>west", "blind"),
    "stream_unknown": StreamPage("east>west", "unknown"),
    "alerts": AlertsPage(),
    "alert": AlertPage(PARKED.key),
    "alert_silenced": AlertPage(SILENCED.key),
    "alert_resolved": AlertPage(RESOLVED.key),
    "alert_of_groups": AlertPage("group/fraud"),
    "alert_of_balancing": AlertPage("balance/hot/east>west/orders/17"),
    "feeds": FeedsPage(),
    "feed": FeedPage("ticks"),
    "feed_of_objects": FeedPage("lake"),
    "events": EventsPage(),
    "events_of_topic": EventsPage("clicks"),
    "jobs": JobsPage(jobs, jobs),
    "job": JobPage(jobs, jobs, "job-1"),
}
SNAPSHOTS = {
    "": replace(replication.status(), feeds=(busy_feed(), object_feed())),
    "_troubles": troubles(),
    "_gone": region_gone(),
    "_empty": empty(),
}


def contents(page: Page, snapshot: Snapshot) -> Iterator[str]:
    """Yields the lines of a page: title, sections with all cells, notes, actions, next pages."""
    yield f"{page.name}: {page.title(snapshot)!r}; {page.focus()}"
    for section in page.sections(snapshot, NOW):
        rows_max = "all" if section.rows_max is None else section.rows_max
        sort = " ".join(section.sort)
        yield f"\n{section.name}: {section.heading!r}, rows {rows_max}, sorted by {sort}"
        yield " | ".join(
            f"{it.title} {it.width}{'>' * it.is_right}{'+' * it.grows}{'w' * it.is_wide}"
            f"{it.priority}"
            for it in section.columns
        )
        if not section.rows:
            yield f"  {section.empty}"
        for row in section.rows:
            yield f"- {row.key!r}{' FAULT' if row.is_fault else ''}: {row.why!r}"
            yield "  " + " | ".join(
                f"{it.text!r}{f' {it.tone}' if it.tone else ''} {it.sort!r}" for it in row.cells
            )
            yield from below(page, snapshot, row)
    yield "\nwithout a row"
    yield from below(page, snapshot, None)


def below(page: Page, snapshot: Snapshot, row: Row | None) -> Iterator[str]:
    """Yields where a row leads to, its notes and its actions."""
    if row is not None and (found := page.opened(snapshot, row)):
        yield f"  opens {found.name}: {found.title(snapshot)!r}"
    yield from (f"  note {each!r}" for each in page.notes(snapshot, row, NOW))
    yield from (f"  {text(each)}" for each in page.actions(snapshot, row, NOW))


def text(action: Action) -> str:
    """Returns everything of an action in a line."""
    fields = "; ".join(
        f"{it.name} {it.option}={it.preset!r} {'' if it.is_required else 'optional '}"
        f"{it.choices or ''}{it.help!r}"
        for it in action.fields
    )
    off = "" if action.why_off is None else f" OFF {action.why_off!r}"
    copied = " copied" if action.is_copied else ""
    return (
        f"key {action.key} {action.label!r}: {' '.join(action.words)!r} [{fields}] "
        f"confirm {action.confirmation!r}{off}{copied}"
    )


@pytest.mark.parametrize("state", SNAPSHOTS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_the_contents_that_it_had_before(name: str, state: str) -> None:
    lines = contents(PAGES[name], SNAPSHOTS[state])
    assert_stored("".join(f"{line}\n" for line in lines), STORED / f"{name}{state}.txt")


def test_each_stored_file_is_of_a_page():
    found = {f"{name}{state}.txt" for name in PAGES for state in SNAPSHOTS}
    assert {path.name for path in STORED.iterdir()} == found
