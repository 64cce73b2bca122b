"""Frames of the screens groups, failover and balance, as text, compared with frames/*.txt."""

from __future__ import annotations

import pytest

from tests.tui.console import snapshots
from tests.tui.console.running import assert_frames, frames_of
from tui.pages.balance import BalancePage
from tui.pages.failover import FailoverPage
from tui.pages.group import GroupPage
from tui.pages.groups import GroupsPage
from tui.pages.page import Page
from tui.pages.plan import PlanPage
from tui.pages.stream import StreamPage

PAGES: dict[str, Page] = {
    "groups": GroupsPage(),
    "group": GroupPage("billing", "west", "east"),
    "failover": FailoverPage(),
    "plan": PlanPage("20261121-143639-f1fd"),
    "balance": BalancePage(),
    "stream": StreamPage("east>west", "default"),
}


@pytest.mark.parametrize("state", snapshots.ALL)
@pytest.mark.parametrize("name", PAGES)
async def test_frames_of_groups_failover_and_balance(name: str, state: str) -> None:
    text = await frames_of(PAGES[name], snapshots.ALL[state]())
    assert_frames(text, f"{name}-{state}")
