"""Frames of the screens overview and routes, as text, compared with frames/*.txt."""

from __future__ import annotations

import pytest

from tests.tui.console import snapshots
from tests.tui.console.running import assert_frames, frames_of
from tui.pages.overview import OverviewPage
from tui.pages.page import Page
from tui.pages.partitions import PartitionsPage
from tui.pages.routes import RoutesPage
from tui.pages.topics import TopicsPage

PAGES: dict[str, Page] = {
    "overview": OverviewPage(),
    "routes": RoutesPage(),
    "topics": TopicsPage("east>west"),
    "partitions": PartitionsPage("east>west", "orders"),
}


@pytest.mark.parametrize("state", snapshots.ALL)
@pytest.mark.parametrize("name", PAGES)
async def test_frames_of_the_first_screens(name: str, state: str) -> None:
    page = PAGES[name]
    if state == "many" and name == "partitions":
        page = PartitionsPage("east>west", "topic-000")
    text = await frames_of(page, snapshots.ALL[state]())
    assert_frames(text, f"{name}-{state}")
