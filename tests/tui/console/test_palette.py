"""Palette: every action, with the reason why it is off."""

from tui.console.all_actions import PlacedAction
from tui.console.keys import DEFAULT, KEYS
from tui.console.palette import ELSEWHERE, PAGE_ACTION, palette_page
from tui.pages.page import Action

PAUSE = Action("H", "pause", ("balance", "pause"), confirmation="x")


def test_every_action_of_page_and_console_is_listed_and_says_why_it_is_off():
    page = palette_page(
        DEFAULT, [(PAUSE, "start the console with --steer")], [(each.name, None) for each in KEYS]
    )
    (section,) = page.tables
    assert len(section.rows) == len(KEYS) + 1
    first = section.rows[0]
    assert first.key == f"{PAGE_ACTION}H"
    assert [cell.text for cell in first.cells] == [
        "H",
        "pause",
        "off: start the console with --steer",
    ]


def test_an_action_that_is_copied_says_so():
    copied = Action("L", "accept loss", ("accept-loss",), is_copied=True)
    (section,) = palette_page(DEFAULT, [(copied, None)], []).tables
    assert section.rows[0].cells[2].text == "sluice accept-loss (to copy)"


def test_actions_of_other_screens_are_listed_with_their_screen():
    placed = PlacedAction("balance", "on a stream", PAUSE)
    (section,) = palette_page(DEFAULT, [], [], [placed, PlacedAction("failover", "", PAUSE)]).tables
    assert section.rows[0].key == f"{ELSEWHERE}0"
    texts = [row.cells[2].text for row in section.rows]
    assert texts == [
        "off: it is on screen 5 balance, on a stream",
        "off: it is on screen 4 failover",
    ]
