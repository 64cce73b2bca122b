"""Commands of the console: each key does what the help says of it."""

import re
from dataclasses import replace

import pytest
from textual.color import Color

from tests.tui.console import snapshots
from tests.tui.console.running import running
from tui.console.console_commands import COMMANDS
from tui.console.keys import KEYS, SCREENS
from tui.console.keys_file import keymap_from
from tui.console.line_widget import TONES
from tui.console.settings import ConsoleSettings
from tui.console.themes import HIGH_CONTRAST, next_theme
from tui.pages.partitions import PartitionsPage
from tui.pages.topics import TopicsPage

PAGE = PartitionsPage("east>west", "orders")


def test_every_key_has_a_command_and_every_command_a_key():
    assert set(COMMANDS) == {each.name for each in KEYS}


async def test_keys_1_to_8_show_the_screens(console):
    for number, name in enumerate(SCREENS, 1):
        await console.press(str(number))
        assert console.app.state.navigation.screen == name
        assert console.app.state.navigation.current.page.name == name


async def test_enter_leads_in_and_esc_out_with_the_cursor_kept(console):
    await console.press("2", "enter")
    assert console.page == TopicsPage("east>west")
    await console.press("down", "enter")
    assert console.page == PartitionsPage("east>west", "clicks")
    await console.press("escape")
    assert console.cursor == "clicks"
    await console.press("escape", "escape")
    assert console.cursor == "east>west"


async def test_enter_says_when_it_leads_nowhere():
    async with running(snapshots.lagging()) as console:
        await console.show(PAGE)
        await console.press("enter")
        assert "there is nothing behind this row" in console.frame()
    async with running(snapshots.empty()) as console:
        await console.press("enter")
        assert "there is no row" in console.frame()


async def test_s_sorts_by_the_next_column_and_upper_s_turns_it_round():
    async with running(snapshots.lagging(), size=(140, 45)) as console:
        await console.show(PAGE)
        await console.press("s")
        assert "sort PART" in console.frame()
        assert console.app.main.table.page.sections[0].keys[0] == "41"
        await console.press("S")
        assert "sort PART, reversed" in console.frame()
        assert console.app.main.table.page.sections[0].keys[0] == "0"


async def test_e_keeps_faults_only_and_esc_or_e_shows_all(console):
    await console.show(PAGE)
    await console.press("e")
    assert "faults only" in console.frame() and "1 of 3" in console.frame()
    await console.press("e")
    assert "1 of 20" in console.frame()
    await console.press("e", "escape")
    assert "1 of 20" in console.frame()


async def test_w_shows_all_columns_and_right_and_left_move_along_them(console):
    await console.show(PAGE)
    assert "REC/S" not in console.frame()
    await console.press("right")
    assert "MIRRORED TO" in console.frame()
    await console.press("w", *["right"] * 6)
    frame = console.frame()
    assert "REC/S" in frame and "STATE" in frame and "MIRRORED TO" not in frame
    await console.press(*["left"] * 7)
    assert "MIRRORED TO" in console.frame()
    await console.press("w")
    assert "wide  " not in console.frame()


async def test_f_keeps_what_is_shown_while_asking_goes_on():
    async with running(snapshots.healthy()) as console:
        await console.press("f")
        assert "READING FROZEN" in console.frame()
        assert "frozen at 14:02:31Z" in console.frame()
        await console.give(snapshots.lagging())
        assert "PARKED  " in console.frame() and "39.1k" not in console.frame()
        await console.press("f")
        assert "39.1k" in console.frame()
        assert "FROZEN" not in console.frame()


async def test_space_asks_now_and_not_in_a_replay():
    async with running(snapshots.healthy()) as console:
        await console.press("space")
        assert console.source.asked == 1
    replay = ConsoleSettings(file="a.rec", is_replay=True)
    async with running(snapshots.healthy(), settings=replay) as console:
        await console.press("space")
        assert console.source.asked == 0
        assert "a replay asks no server" in console.frame()


async def test_t_shows_the_next_theme():
    async with running(snapshots.healthy()) as console:
        await console.press("t")
        assert console.app.theme == "high-contrast"
        assert "theme high-contrast" in console.frame()


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_q_and_ctrl_c_leave_with_0(key):
    async with running(snapshots.healthy()) as console:
        await console.pilot.press(key)
        await console.pilot.pause()
    assert console.app.return_value == 0
    assert console.source.is_closed


async def test_ctrl_c_leaves_from_a_dialog_too():
    async with running(snapshots.healthy()) as console:
        await console.press("?")
        await console.pilot.press("ctrl+c")
        await console.pilot.pause()
    assert console.app.return_value == 0


async def test_keys_of_a_file_are_used_and_shown():
    keymap = keymap_from('routes = "r"\nfaults = "f2"')
    settings = ConsoleSettings(file="a.toml", keymap=keymap)
    async with running(snapshots.healthy(), settings=settings) as console:
        assert "r routes" in console.frame()
        await console.press("2")
        assert console.app.state.navigation.screen == "overview"
        await console.press("r")
        assert console.app.state.navigation.screen == "routes"


async def test_a_file_gives_another_key_to_the_action_of_a_page():
    keymap = keymap_from('[actions]\nhold = "x"\nplan-failover = "f2"')
    settings = ConsoleSettings(file="a.toml", keymap=keymap, is_steering=True)
    async with running(snapshots.lagging(), (140, 45), settings) as console:
        await console.press("5")
        assert "x hold" in console.frame() and "H hold" not in console.frame()
        await console.press("H")
        assert console.app.screen is console.app.main
        await console.press("x")
        assert "sluice balance pause" in console.frame()
        await console.press("escape", "?")
        assert re.search(r"\bx +hold ", console.frame())
        await console.press("escape", ":")
        await console.press(*"failover")
        assert "f2" in console.frame()


async def test_a_greyed_action_says_why_under_its_other_key():
    settings = ConsoleSettings(file="a.toml", keymap=keymap_from('actions.hold = "x"'))
    async with running(snapshots.lagging(), settings=settings) as console:
        await console.press("5", "x")
        assert "x hold: start the console with --steer" in console.frame()


# --- Commands of a replay.

REPLAY = ConsoleSettings(file="lab.rec", is_replay=True)


async def test_keys_step_seek_and_change_the_speed():
    async with running(snapshots.lagging(), settings=REPLAY) as console:
        await console.press("[", "]", ",", ".", "n")
        assert console.source.moves == [-1, 1, ("speed", 0.5), ("speed", 2.0), "alert"]
        await console.press("i", *"14", "colon", *"00", "enter")
        assert console.source.moves[-1] == ("seek", snapshots.NOW - 151)


async def test_the_time_of_a_replay_is_that_of_its_snapshot():
    async with running(snapshots.lagging(), settings=REPLAY) as console:
        assert "REPLAY" in console.frame() and "x1" in console.frame()
        await console.give(replace(snapshots.lagging(), taken_at=snapshots.NOW - 60))
        assert "14:01:31Z" in console.frame()


async def test_without_a_replay_the_keys_say_so(console):
    for key in ("[", "]", ",", ".", "n", "i"):
        await console.press(key)
        assert "this is no replay" in console.frame()
    assert console.source.moves == []


# --- Themes: ours has a contrast of 7:1 in every tone.


def luminance(color: Color) -> float:
    def linear(value: int) -> float:
        part = value / 255
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def contrast(one: Color, other: Color) -> float:
    """Returns the contrast of two colours as WCAG 2 defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


async def test_every_tone_of_high_contrast_has_seven_to_one():
    settings = ConsoleSettings(file="a.toml", theme=HIGH_CONTRAST.name)
    async with running(snapshots.lagging(), settings=settings) as console:
        table = console.app.main.table
        found = {}
        for tone in ("", *TONES):
            style = table.get_component_rich_style(f"tone--{tone}") if tone else table.rich_style
            found[tone] = contrast(
                Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
            )
        assert all(ratio >= 7.0 for ratio in found.values()), found


def test_the_contrast_of_black_and_white_is_21():
    assert contrast(Color(0, 0, 0), Color(255, 255, 255)) == pytest.approx(21.0)


def test_themes_go_round_and_ours_is_the_second():
    names = ["nord", "textual-dark", "high-contrast"]
    order = [next_theme(names, "unknown")]
    for _ in names:
        order.append(next_theme(names, order[-1]))
    assert order == ["textual-dark", "high-contrast", "nord", "textual-dark"]
