"""Rights that a server has refused: actions that need them are off, with the refusal."""

from dataclasses import replace

import pytest

from tests.tui.console import snapshots
from tests.tui.console.running import running
from tui.console.missing_rights import why_no_right
from tui.console.settings import ConsoleSettings
from tui.facts.part import NOTICES, ORDERS, Part
from tui.facts.snapshot import Snapshot
from tui.pages.page import Action

REFUSAL = "lacks the right: TOPIC_AUTHORIZATION_FAILED"
HOLD = Action("H", "hold", ("balance", "pause", "--route", "east>west", "--stream", "default"))
PAUSE = Action("H", "pause", ("stream", "pause-topic", "--route", "west>east", "orders"))
SILENCE = Action("Z", "silence", ("alerts", "silence", "--region", "east", "audit/x"))
PLAN = Action("P", "plan failover", ("failover", "plan"))
FREEZE = Action("H", "freeze", ("aggregate", "freeze", "--feed", "clicks"))


def refusing(server: str, about: str, problem: str | None = REFUSAL) -> Snapshot:
    found = snapshots.lagging()
    part = Part(
        server=server, about=about, asked_at=None, problem=problem and f"{server}: {problem}"
    )
    return replace(found, parts=(*found.parts, part))


@pytest.mark.parametrize(
    ("action", "server", "about"),
    [
        (HOLD, "west aggregate", ORDERS),
        (PAUSE, "east aggregate", ORDERS),
        (SILENCE, "east Redis", NOTICES),
        (PLAN, "west aggregate", "primary regions"),
        (replace(PLAN, words=("switchover", "plan")), "east aggregate", "primary regions"),
    ],
)
def test_an_action_is_off_where_a_server_of_its_command_refuses(action, server, about):
    assert why_no_right(action, refusing(server, about)) == f"{server}: {REFUSAL}"
    assert why_no_right(action, refusing(server, about, "timed out after 3 s")) is None
    assert why_no_right(action, refusing("north aggregate", about)) is None
    assert why_no_right(action, refusing(server, "log ends")) is None


def test_a_feed_is_frozen_by_an_order_of_its_region():
    found = refusing("west aggregate", ORDERS)
    assert found.feeds
    feed = replace(found.feeds[0], feed="clicks", region="west")
    assert why_no_right(FREEZE, replace(found, feeds=(feed,))) == f"west aggregate: {REFUSAL}"
    assert why_no_right(FREEZE, replace(found, feeds=(replace(feed, region="east"),))) is None
    assert why_no_right(FREEZE, replace(found, feeds=None)) is None


def test_what_needs_no_server_is_on():
    assert why_no_right(Action("V", "verify", ()), refusing("west aggregate", ORDERS)) is None


async def test_the_keys_and_the_palette_grey_it_with_the_refusal():
    settings = ConsoleSettings(file="a.toml", is_steering=True)
    async with running(refusing("east aggregate", ORDERS), (140, 45), settings) as console:
        await console.press("5")
        assert "(H hold)" in console.frame()
        await console.press("H")
        assert f"H hold: east aggregate: {REFUSAL}" in console.frame()
        await console.press(":", *"hold")
        assert f"off: east aggregate: {REFUSAL}" in console.frame()
