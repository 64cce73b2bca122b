"""Main screen: frame before data, why and notes of a row, filter, greyed actions."""

import pytest

from tests.tui.console import snapshots
from tests.tui.console.running import SIZES, running
from tui.console.settings import ConsoleSettings
from tui.pages.partitions import PartitionsPage
from tui.pages.topics import TopicsPage

PAGE = PartitionsPage("east>west", "orders")
STEERING = ConsoleSettings(file="appliance.toml", is_steering=True)


@pytest.mark.parametrize("size", SIZES)
async def test_the_first_frame_names_keys_and_screens_before_any_answer(size):
    async with running(None, size) as console:
        frame = console.frame()
        assert "sluice  appliance.toml  READING" in frame
        assert "1 overview 2 routes 3 groups" in frame
        assert "?help" in frame
        assert ": actions" in frame


async def test_the_row_under_the_cursor_says_why(console):
    await console.show(PAGE)
    assert "why: parked: retention passed 1,196,301 to 1,198,112" in console.frame()
    await console.press("down")
    assert "why: carrier 2 has 0.97 of its time" in console.frame()


async def test_a_filter_applies_while_it_is_typed_and_esc_clears_it(console):
    await console.show(PAGE)
    await console.press("slash", "P", "A", "R", "K")
    assert "1 of 1" in console.frame()
    await console.press("enter")
    assert "/PARK" in console.frame()
    await console.press("escape")
    assert "1 of 20" in console.frame()
    assert console.app.state.navigation.current.page == PAGE


async def test_esc_in_the_line_of_the_filter_clears_it(console):
    await console.show(PAGE)
    await console.press("slash", "x", "x", "escape")
    assert "1 of 20" in console.frame()


async def test_an_inverted_filter_keeps_the_rest(console):
    await console.show(PAGE)
    await console.press("slash", "exclamation_mark", "O", "K", "enter")
    assert "1 of 3" in console.frame()


async def test_a_bad_filter_is_told_and_keeps_all_rows():
    async with running(snapshots.lagging(), size=(140, 45)) as console:
        await console.show(PAGE)
        await console.press("slash", "left_square_bracket")
        assert "no regular expression" in console.frame()
        assert "1 of 20" in console.frame()


async def test_a_changing_action_is_greyed_without_steer_and_says_why(console):
    await console.show(TopicsPage("east>west"))
    assert "(H pause)" in console.frame()
    await console.press("H")
    assert "H pause: start the console with --steer" in console.frame()
    assert len(console.app.screen_stack) == 2


async def test_with_steer_it_is_not_greyed_but_in_a_replay_it_is():
    async with running(snapshots.lagging(), settings=STEERING) as console:
        await console.show(TopicsPage("east>west"))
        assert " H pause" in console.frame()
        assert "STEERING" in console.frame()
    replay = ConsoleSettings(file="a.rec", is_replay=True, is_steering=True)
    async with running(snapshots.lagging(), settings=replay) as console:
        await console.show(TopicsPage("east>west"))
        await console.press("H")
        assert "a replay changes nothing" in console.frame()


async def test_a_notice_goes_with_the_next_key(console):
    console.app.tell("the recording is full")
    await console.until(lambda: "the recording is full" in console.frame())
    await console.press("down")
    assert "the recording is full" not in console.frame()


async def test_notes_only_grow_while_a_page_is_shown(console):
    await console.show(PAGE)
    height = console.app.main.table.size.height
    await console.press("end")
    assert console.app.main.table.size.height == height
