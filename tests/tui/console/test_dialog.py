"""Dialogs: choosers, prompts, and the typed confirmation of an action."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual import events

from tests.tui.console import snapshots
from tests.tui.console.running import Running, running
from tui.console.chooser import Chooser
from tui.console.command_line import JobRefused, command_text, filled, missing
from tui.console.dialog import ActionDialog, help_of, window
from tui.console.list_page import ListPage
from tui.console.overlay import Overlay
from tui.console.prompt import BadTime, TimePrompt, time_of
from tui.pages.page import Action, Cell, Column, Field, Row, Section

# --- Overlay: keys that were typed ahead never end the screen below it.


async def test_a_second_end_leaves_the_main_screen_where_it_is(console) -> None:
    await console.press("?")
    help_screen = console.app.screen
    assert isinstance(help_screen, Overlay)
    help_screen.dismiss(None)
    help_screen.dismiss(None)
    await console.settled()
    assert console.app.screen is console.app.main
    assert "1 overview" in console.frame()


# --- Input: what is pasted is escaped.


async def test_pasted_control_characters_are_shown_as_text(console):
    await console.press("slash")
    console.app.main.filter_input.post_message(events.Paste("a\x1b[31mb\u202e"))
    await console.settled()
    assert console.app.main.filter_input.value == "a\\x1b[31mb\\u202e"


# --- Chooser: typing narrows, arrows move, enter chooses, a click too.

ROWS = [Row(f"key {at}", (Cell(f"name {at}"),)) for at in range(40)]
PAGE = ListPage("names", (Section("s", (Column("NAME", 20, grows=True),), ROWS),))


async def chosen(console: Running, *keys: str) -> object:
    found = []
    console.app.push_screen(Chooser(PAGE, "hint"), found.append)
    await console.settled()
    await console.press(*keys)
    return found[0] if found else "nothing"


async def test_enter_chooses_the_first_row(console):
    assert await chosen(console, "enter") == "key 0"


async def test_arrows_and_pages_move(console):
    assert await chosen(console, "down", "down", "up", "enter") == "key 1"
    assert await chosen(console, "pagedown", "pageup", "enter") == "key 0"


async def test_all_typed_words_have_to_be_in_a_row_in_any_order(console):
    assert await chosen(console, "3", "9", "space", "n", "a", "enter") == "key 39"


async def test_nothing_fits_and_nothing_is_chosen(console):
    assert await chosen(console, "x", "enter") is None


async def test_esc_chooses_nothing(console):
    assert await chosen(console, "down", "escape") is None


async def test_a_second_click_chooses(console):
    found = []
    console.app.push_screen(Chooser(PAGE, "hint"), found.append)
    await console.settled()
    await console.pilot.click("#choices", offset=(3, 3))
    await console.settled()
    await console.pilot.click("#choices", offset=(3, 3))
    await console.settled()
    assert found == ["key 2"]


async def test_it_fits_another_size():
    async with running(snapshots.healthy()) as console:
        console.app.push_screen(Chooser(PAGE, "hint"))
        await console.settled()
        await console.pilot.resize_terminal(60, 12)
        await console.settled()
        await console.pilot.pause()
        assert "hint" in console.frame()


# --- Prompt for a time.

NOW = snapshots.NOW


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("14:02:31", 0),
        ("14:03", 29),
        ("2026-11-21 14:02", -31),
        ("2026-11-21T14:02:30Z", -1),
        ("2026-11-20 14:02:31", -86400),
    ],
)
def test_a_time_of_day_belongs_to_the_day_that_is_shown(text, seconds):
    assert time_of(text, NOW) == NOW + seconds


def test_a_text_that_is_no_time_is_told():
    with pytest.raises(BadTime, match="no time: noon"):
        time_of("noon", NOW)


async def test_the_prompt_asks_again_after_a_mistake_and_esc_leaves(console):
    found = []
    console.app.push_screen(TimePrompt(NOW), found.append)
    await console.settled()
    await console.press(*"noon", "enter")
    assert "no time: noon" in console.frame()
    await console.press("escape")
    console.app.push_screen(TimePrompt(NOW), found.append)
    await console.settled()
    await console.press(*"14", "colon", *"05", "enter")
    console.app.push_screen(TimePrompt(NOW), found.append)
    await console.settled()
    await console.press("enter")
    assert found == [None, NOW + 149, None]


# --- Command line of an action, as it is shown and copied.

ACTION = Action(
    "H",
    "pause",
    ("stream", "pause-topic"),
    (
        Field("topic", "", "orders"),
        Field("route", "--route", "west>east"),
        Field("why", "--reason"),
    ),
    confirmation="orders",
)


def test_options_come_before_arguments_and_are_quoted_for_a_shell():
    text = command_text(ACTION, {"topic": "orders", "route": "west>east", "why": "a b"}, "a.toml")
    assert text == (
        "sluice stream pause-topic --config a.toml --route 'west>east' --reason 'a b' orders"
    )


def test_presets_hold_where_nothing_was_typed():
    assert filled(ACTION, {"topic": "trades"}) == [
        ("", "trades"),
        ("--route", "west>east"),
        ("--reason", ""),
    ]
    assert command_text(ACTION, {}) == "sluice stream pause-topic --route 'west>east' orders"


def test_what_is_fixed_in_the_words_comes_after_the_configuration():
    loss = Action("L", "loss", ("accept-loss", "--route", "a>b", "--", "-x"), is_copied=True)
    assert command_text(loss, {}, "a.toml") == (
        "sluice accept-loss --config a.toml --route 'a>b' -- -x"
    )


def test_what_is_missing_or_not_a_choice_is_named():
    assert missing(ACTION, {"topic": "a", "route": "b", "why": " "}) == "why is missing"
    assert missing(ACTION, {"topic": "a", "route": "b", "why": "c"}) is None
    choice = Action("x", "x", (), (Field("depth", "--by", choices=("count", "bytes")),))
    assert missing(choice, {"depth": "all"}) == "depth: one of count, bytes"


# --- Dialog of an action: typed confirmation, exact command, no buttons.

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
