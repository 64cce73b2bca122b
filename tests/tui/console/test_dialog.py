"""Dialog of an action: typed confirmation, exact command, no buttons."""

import pytest

from tests.tui.console import snapshots
from tests.tui.console.running import running
from tui.console.command_line import command_text
from tui.console.dialog import ActionDialog, help_of, window
from tui.console.source import JobRefused
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
PLAN = Action("P", "plan", ("balance", "plan"), (Field("route", "--route", "west>east"),))
REASON = tuple("test")
ENTERS = ("enter", "enter")


async def result(action: Action, *keys: str, size=(80, 24), refusal: str = "") -> tuple:
    """Returns what the dialog ended with, and the last frame."""

    def command(values):
        if refusal:
            raise JobRefused(refusal)
        return command_text(action, values)

    async with running(snapshots.healthy(), size) as console:
        found = []
        console.app.push_screen(ActionDialog(action, command), found.append)
        await console.settled()
        for key in keys:
            await console.press(key)
        await console.pilot.pause()
        return (found or ["open"])[0], console.frame()


async def test_the_exact_command_is_shown_and_follows_the_fields():
    _, frame = await result(PAUSE, *REASON)
    assert "sluice stream pause-topic --route 'west>east' --reason test orders" in frame
    assert "Type orders to run it; empty enter or esc: nothing is done" in frame


@pytest.mark.parametrize(
    ("keys", "marked"),
    [
        ((), "›reason"),
        (("down",), "›for"),
        (("enter", "enter"), "›Type orders"),
        (("up",), "›route"),
    ],
)
async def test_a_mark_shows_where_is_typed(keys, marked):
    _, frame = await result(PAUSE, *keys)
    assert marked in frame
    assert frame.count("›") == 1
    assert "↑↓ fields" in frame


async def test_a_typed_confirmation_runs_it():
    found, _ = await result(PAUSE, *REASON, *ENTERS, *"orders", "enter")
    assert found == {"topic": "orders", "route": "west>east", "reason": "test", "for": ""}


async def test_an_empty_confirmation_does_nothing():
    found, _ = await result(PAUSE, *REASON, *ENTERS, "enter")
    assert found is None


async def test_esc_does_nothing():
    assert (await result(PAUSE, *REASON, *ENTERS, *"orders", "escape"))[0] is None


async def test_another_text_does_nothing_and_is_told():
    found, frame = await result(PAUSE, *REASON, *ENTERS, *"yes", "enter")
    assert found == "open"
    assert "yes is not orders: nothing is done" in frame


async def test_a_missing_reason_is_told():
    found, frame = await result(PAUSE, *ENTERS, *"orders", "enter")
    assert found == "open"
    assert "reason is missing" in frame


async def test_what_changes_nothing_needs_no_confirmation():
    found, frame = await result(PLAN)
    assert found == "open" and "it changes nothing: enter runs it" in frame
    assert (await result(PLAN, "enter"))[0] == {"route": "west>east"}


async def test_a_refused_command_is_not_run():
    found, frame = await result(PLAN, "enter", refusal="a quote is not closed")
    assert found == "open"
    assert "a quote is not closed" in frame


async def test_a_command_to_copy_says_that_it_is_not_run():
    copied = Action("L", "accept loss", ("accept-loss",), is_copied=True)
    _, frame = await result(copied)
    assert "not run from here: enter copies the command" in frame
    assert (await result(copied, "enter"))[0] == {}


async def test_a_value_with_control_characters_is_shown_escaped_and_kept_as_it_is():
    odd = Action("x", "x", ("groups", "show"), (Field("group", "", "a\x1b[2J"),))
    found, frame = await result(odd, "enter")
    assert found == {"group": "a\x1b[2J"}
    _, frame = await result(odd)
    assert "a\\x1b[2J" in frame


async def test_arrows_move_between_the_fields():
    more = ("up", "end", *"2", "down")
    found, _ = await result(PAUSE, *more, *REASON, *ENTERS, *"orders", "enter")
    assert found["route"] == "west>east2"


async def test_what_is_typed_first_takes_the_place_of_a_preset():
    found, _ = await result(PAUSE, "up", *"x>y", "down", *REASON, *ENTERS, *"orders", "enter")
    assert found["route"] == "x>y"


@pytest.mark.parametrize("size", [(80, 24), (60, 18)])
async def test_the_question_is_visible_on_a_small_terminal(size):
    _, frame = await result(PAUSE, size=size)
    assert "Type orders to run it" in frame


def test_help_of_a_field_names_its_choices():
    field = Field("by", "--by", is_required=False, choices=("count", "bytes"), help="depth")
    assert help_of(field) == "depth; one of count, bytes; may be empty"


def test_a_long_command_has_a_window_that_says_what_it_leaves_out():
    lines = [f"line {at}" for at in range(9)]
    assert window(lines, 0, 6) == [*lines[:5], "... 4 lines more: pgdn"]
    assert window(lines, 3, 6) == lines[3:]
    assert window(lines[:6], 0, 6) == lines[:6]


async def test_a_long_command_can_be_read_to_its_end():
    action = Action("P", "plan", ("failover", "plan"), (Field("reason", "--reason", "why " * 200),))
    _, frame = await result(action)
    assert "lines more: pgdn" in frame
    _, frame = await result(action, *["pagedown"] * 4)
    assert "lines more" not in frame and "why why'" in frame
    _, frame = await result(action, *["pagedown"] * 4, *["pageup"] * 4)
    assert "sluice failover plan --reason" in frame
