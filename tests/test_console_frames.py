"""Frames of all pages, as text, compared with tests/tui/console/frames/*.txt."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tui.console import snapshots
from tests.tui.console.running import assert_frames, frames_of, running
from tests.tui.pages.finding_snapshots import PARKED, findings
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
from tui.pages.overview import OverviewPage
from tui.pages.page import Page
from tui.pages.partitions import PartitionsPage
from tui.pages.plan import PlanPage
from tui.pages.routes import RoutesPage
from tui.pages.stream import StreamPage
from tui.pages.topics import TopicsPage

FINDINGS: dict[str, Page] = {
    "alerts": AlertsPage(),
    "feeds": FeedsPage(),
    "events": EventsPage(),
}
DETAILS: dict[str, Page] = {
    "alert": AlertPage(PARKED.key),
    "feed": FeedPage("ticks"),
}
PAGES: dict[str, Page] = FINDINGS | {
    "overview": OverviewPage(),
    "routes": RoutesPage(),
    "topics": TopicsPage("east>west"),
    "partitions": PartitionsPage("east>west", "orders"),
    "groups": GroupsPage(),
    "group": GroupPage("billing", "west", "east"),
    "failover": FailoverPage(),
    "plan": PlanPage("20261121-143639-f1fd"),
    "balance": BalancePage(),
    "stream": StreamPage("east>west", "default"),
}
MANY = PAGES | {"partitions": PartitionsPage("east>west", "topic-000")}
STATES: dict[str, tuple[Callable[[], Snapshot], dict[str, Page]]] = {
    **{state: (snapshots.ALL[state], PAGES) for state in snapshots.ALL},
    "many": (snapshots.many, MANY),
    "findings": (findings, FINDINGS | DETAILS),
}


@pytest.mark.parametrize("state", STATES)
async def test_each_page_of_a_state_is_drawn_in_all_sizes(
    state: str, subtests: pytest.Subtests
) -> None:
    snapshot, pages = STATES[state]
    found = await frames_of(pages, snapshot())
    for name, text in found.items():
        with subtests.test(page=name):
            assert_frames(text, f"{name}-{state}")


async def test_enter_leads_from_an_alert_to_its_cause_and_back() -> None:
    async with running(findings(), (100, 30)) as console:
        await console.press("6")
        assert console.cursor == PARKED.key
        await console.press("enter")
        assert f"alert {PARKED.key}" in console.frame()
        await console.press("enter")
        assert console.cursor == "orders-1 west aggregate"
        await console.press("escape", "escape")
        assert console.cursor == PARKED.key
