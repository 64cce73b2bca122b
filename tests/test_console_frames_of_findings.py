"""Frames of the screens alerts, feeds and events, as text, compared with frames/*.txt."""

from __future__ import annotations

import pytest

from tests.tui.console import snapshots
from tests.tui.console.running import assert_frames, frames_of, running
from tests.tui.pages.finding_snapshots import PARKED, findings
from tui.pages.alert import AlertPage
from tui.pages.alerts import AlertsPage
from tui.pages.events import EventsPage
from tui.pages.feed import FeedPage
from tui.pages.feeds import FeedsPage
from tui.pages.page import Page

PAGES: dict[str, Page] = {
    "alerts": AlertsPage(),
    "feeds": FeedsPage(),
    "events": EventsPage(),
}
DETAILS: dict[str, Page] = {
    "alert": AlertPage(PARKED.key),
    "feed": FeedPage("ticks"),
}


@pytest.mark.parametrize("state", snapshots.ALL)
@pytest.mark.parametrize("name", PAGES)
async def test_frames_of_alerts_feeds_and_events(name: str, state: str) -> None:
    text = await frames_of(PAGES[name], snapshots.ALL[state]())
    assert_frames(text, f"{name}-{state}")


@pytest.mark.parametrize("name", PAGES | DETAILS)
async def test_frames_with_alerts_of_all_states_and_a_feed_with_faults(name: str) -> None:
    assert_frames(await frames_of((PAGES | DETAILS)[name], findings()), f"{name}-findings")


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
