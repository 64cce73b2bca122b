"""Dialog of an action: typed confirmation, exact command, no buttons."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest_asyncio

from tests.tui.console import snapshots
from tests.tui.console.running import Running, running
from tui.console.command_line import JobRefused, command_text
from tui.console.dialog import ActionDialog, help_of, window
from tui.pages.page import Action, Field

PAUSE = Action(
    "H",
    "pause",
    ("stream", "pause-topic"),
    (
        Field("topic", "", "orders"),
        Field("route", "--route", "west>east"),
        Field("reason", "--reason", help="recorded"),
        Field("for", "--for", is_required=False),
    ),
    confirmation="orders",
)
HOLD = Action(
    "H", "hold", ("balance", "pause"), (Field("reason", "--reason"),), confirmation="east"
)
PLAN = Action("P", "plan", ("balance", "plan"), (Field("route", "--route", "west>east"),))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def console() -> AsyncIterator[Running]:
    """Yields a console that shows one dialog after another."""
    async with running(snapshots.healthy()) as found:
        yield found


@asynccontextmanager
async def dialog(console: Running, action: Action, refusal: str = "") -> AsyncIterator[list]:
    """Shows a dialog; yields a list that gets what it ends with."""

    def command(values):
        if refusal:
            raise JobRefused(refusal)
        return command_text(action, values)

    found: list = []
    console.app.push_screen(ActionDialog(action, command), found.append)
    await console.settled()
    yield found
    if not found:
        await console.press("escape")
    assert console.app.screen is console.app.main


async def test_the_exact_command_is_shown_and_follows_the_fields(console):
    async with dialog(console, PAUSE):
        await console.press(*"test")
        frame = console.frame()
        assert "sluice stream pause-topic --route 'west>east' --reason test orders" in frame
        assert "Type orders to run it; empty enter or esc: nothing is done" in frame


async def test_a_mark_shows_where_is_typed(console):
    async with dialog(console, PAUSE):
        for keys, marked in (
            ((), "›reason"),
            (("down",), "›for"),
            (("up", "up"), "›route"),
            (("enter", "enter", "enter"), "›Type orders"),
        ):
            await console.press(*keys)
            frame = console.frame()
            assert marked in frame
            assert frame.count("›") == 1
            assert "↑↓ fields" in frame


async def test_a_typed_confirmation_runs_it(console):
    async with dialog(console, PAUSE) as found:
        await console.press(*"test", "enter", "enter", *"orders", "enter")
        assert found == [{"topic": "orders", "route": "west>east", "reason": "test", "for": ""}]


async def test_an_empty_confirmation_does_nothing(console):
    async with dialog(console, HOLD) as found:
        await console.press("x", "enter", "enter")
        assert found == [None]


async def test_esc_does_nothing(console):
    async with dialog(console, HOLD) as found:
        await console.press("x", "enter", *"east", "escape")
        assert found == [None]


async def test_another_text_does_nothing_and_is_told(console):
    async with dialog(console, HOLD) as found:
        await console.press("x", "enter", *"yes", "enter")
        assert found == []
        assert "yes is not east: nothing is done" in console.frame()


async def test_a_missing_reason_is_told(console):
    async with dialog(console, HOLD) as found:
        await console.press("enter", *"east", "enter")
        assert found == []
        assert "reason is missing" in console.frame()


async def test_what_changes_nothing_needs_no_confirmation(console):
    async with dialog(console, PLAN) as found:
        assert "it changes nothing: enter runs it" in console.frame()
        await console.press("enter")
        assert found == [{"route": "west>east"}]


async def test_a_refused_command_is_not_run(console):
    async with dialog(console, PLAN, refusal="a quote is not closed") as found:
        await console.press("enter")
        assert found == []
        assert "a quote is not closed" in console.frame()


async def test_a_command_to_copy_says_that_it_is_not_run(console):
    copied = Action("L", "accept loss", ("accept-loss",), is_copied=True)
    async with dialog(console, copied) as found:
        assert "not run from here: enter copies the command" in console.frame()
        await console.press("enter")
        assert found == [{}]


async def test_a_value_with_control_characters_is_shown_escaped_and_kept_as_it_is(console):
    odd = Action("x", "x", ("groups", "show"), (Field("group", "", "a\x1b[2J"),))
    async with dialog(console, odd) as found:
        assert "a\\x1b[2J" in console.frame()
        await console.press("enter")
        assert found == [{"group": "a\x1b[2J"}]


async def test_arrows_move_between_the_fields(console):
    async with dialog(console, PAUSE) as found:
        keys = ("up", "end", "2", "down", "x", "enter", "enter")
        await console.press(*keys, *"orders", "enter")
        assert found[0]["route"] == "west>east2"


async def test_what_is_typed_first_takes_the_place_of_a_preset(console):
    async with dialog(console, PLAN) as found:
        await console.press("up", *"x>y", "down", "enter")
        assert found == [{"route": "x>y"}]


async def test_the_question_is_visible_on_a_small_terminal():
    async with running(snapshots.healthy(), (60, 18)) as console, dialog(console, PAUSE):
        assert "Type orders to run it" in console.frame()


def test_help_of_a_field_names_its_choices():
    field = Field("by", "--by", is_required=False, choices=("count", "bytes"), help="depth")
    assert help_of(field) == "depth; one of count, bytes; may be empty"


def test_a_long_command_has_a_window_that_says_what_it_leaves_out():
    lines = [f"line {at}" for at in range(9)]
    assert window(lines, 0, 6) == [*lines[:5], "... 4 lines more: pgdn"]
    assert window(lines, 3, 6) == lines[3:]
    assert window(lines[:6], 0, 6) == lines[:6]


async def test_a_long_command_can_be_read_to_its_end(console):
    action = Action("P", "plan", ("failover", "plan"), (Field("reason", "--reason", "why " * 200),))
    async with dialog(console, action):
        assert "lines more: pgdn" in console.frame()
        await console.press(*["pagedown"] * 4)
        assert "lines more" not in console.frame() and "why why'" in console.frame()
        await console.press(*["pageup"] * 4)
        assert "sluice failover plan --reason" in console.frame()
