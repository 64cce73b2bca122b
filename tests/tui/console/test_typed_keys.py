"""Keys that are typed ahead take effect on the page or the field that the key before led to."""

from textual import events

from tests.tui.console.running import Running, running
from tests.tui.console.snapshots import lagging
from tui.console.chooser import Chooser
from tui.console.dialog import ActionDialog
from tui.console.list_page import ListPage
from tui.console.plain_input import PlainInput
from tui.console.settings import ConsoleSettings
from tui.console.typed_keys import apart
from tui.pages.page import Cell, Column, Row, Section

STEERING = ConsoleSettings(file="appliance.toml", is_steering=True)


async def typed_at_once(console: Running, *keys: str) -> None:
    """Gives keys to the app without waiting for the effect of any."""
    names = {"\r": "enter", "\x1b": "escape", "/": "slash", ">": "greater_than_sign"}
    for key in keys:
        console.app.post_message(events.Key(names.get(key, key), key))
    await console.settled()


async def test_enter_opens_the_row_of_the_page_that_the_key_before_led_to() -> None:
    async with running(lagging(), (100, 30)) as console:
        await typed_at_once(console, "2", "\r", "\r")
        assert console.app.state.navigation.depth == 3
        assert "partitions" in console.frame()
        await typed_at_once(console, "\x1b", "\x1b", "6")
        assert console.app.state.navigation.screen == "alerts"


async def test_letters_after_the_slash_are_the_filter() -> None:
    async with running(lagging(), (100, 30)) as console:
        await typed_at_once(console, "2", "/", *"east>w", "\r", "j")
        assert console.app.state.navigation.current.filter == "east>w"


async def test_an_escape_that_arrives_with_a_key_is_an_escape_and_a_key() -> None:
    together = events.Key("inverted_exclamation_mark", "¡")
    for event in (together, events.Key("alt+1", "1")):
        assert [each.key for each in apart(event, in_text=False)] == ["escape", "1"]
    assert list(apart(together, in_text=True)) == [together]
    async with running(lagging(), (100, 30)) as console:
        await typed_at_once(console, "2", "\r")
        console.app.post_message(together)
        await console.settled()
        assert console.app.state.navigation.screen == "overview"
        await typed_at_once(console, "2", "\r", "?", "\x1b", "¡")
        assert console.app.state.navigation.screen == "overview"
        await console.press("2")
        assert console.app.state.navigation.depth == 1


async def test_ctrl_c_does_not_wait_for_other_keys() -> None:
    async with running(lagging(), (100, 30)) as console:
        for key in ("2", "3", "4"):
            console.app.post_message(events.Key(key, key))
        console.app.post_message(events.Key("ctrl+c", None))
        await console.pilot.pause()
        assert console.app.return_value == 0


async def test_what_is_typed_ahead_in_a_dialog_goes_to_the_field_that_enter_leads_to() -> None:
    async with running(lagging(), (100, 30), STEERING) as console:
        await typed_at_once(console, "5", "H", *"load test", "\r", "\r", *"no")
        dialog = console.app.screen
        assert isinstance(dialog, ActionDialog)
        assert dialog.values()["reason"] == "load test"
        assert dialog.query_one("#confirm", PlainInput).value == "no"


async def test_enter_typed_ahead_in_a_chooser_chooses_its_first_row() -> None:
    found = []
    rows = [Row("first", (Cell("first"),)), Row("second", (Cell("second"),))]
    page = ListPage("names", (Section("names", (Column("NAME", 9),), rows),))
    async with running(lagging(), (100, 30)) as console:
        console.app.push_screen(Chooser(page, "hint"), found.append)
        await typed_at_once(console, "\r")
        assert found == ["first"]
