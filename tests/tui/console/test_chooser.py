"""Chooser: typing narrows, arrows move, enter chooses, a click too."""

from tests.tui.console import snapshots
from tests.tui.console.running import running
from tui.console.chooser import Chooser
from tui.console.list_page import ListPage
from tui.pages.page import Cell, Column, Row, Section

ROWS = [Row(f"key {at}", (Cell(f"name {at}"),)) for at in range(40)]
PAGE = ListPage("names", (Section("s", (Column("NAME", 20, grows=True),), ROWS),))


async def chosen(*keys: str) -> object:
    async with running(snapshots.healthy()) as console:
        found = []
        console.app.push_screen(Chooser(PAGE, "hint"), found.append)
        await console.settled()
        await console.press(*keys)
        return found[0] if found else "nothing"


async def test_enter_chooses_the_first_row():
    assert await chosen("enter") == "key 0"


async def test_arrows_and_pages_move():
    assert await chosen("down", "down", "up", "enter") == "key 1"
    assert await chosen("pagedown", "pageup", "enter") == "key 0"


async def test_all_typed_words_have_to_be_in_a_row_in_any_order():
    assert await chosen("3", "9", "space", "n", "a", "enter") == "key 39"


async def test_nothing_fits_and_nothing_is_chosen():
    assert await chosen("x", "enter") is None


async def test_esc_chooses_nothing():
    assert await chosen("down", "escape") is None


async def test_a_second_click_chooses():
    async with running(snapshots.healthy()) as console:
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
