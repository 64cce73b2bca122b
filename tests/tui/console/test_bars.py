"""Bars: what the lines around a table say."""

from dataclasses import replace

from tests.tui.console import snapshots
from tui.console.bars import Hint, TopFacts, hints, hints_line, page_line, screens_line, top_line
from tui.console.built_page import built
from tui.console.keys import DEFAULT
from tui.console.keys_file import keymap_from
from tui.console.navigation import first_view
from tui.console.view_state import ViewState
from tui.pages.events import EventsPage
from tui.pages.page import Action
from tui.pages.routes import RoutesPage

FACTS = TopFacts(
    file="appliance.toml",
    mode="READING",
    age="data 1.2 s old",
    age_tone="",
    now=snapshots.NOW,
)


def text(line) -> str:
    return "".join(piece.text for piece in line)


def test_the_top_line_names_file_mode_age_and_time():
    line = top_line(FACTS, "?", 80)
    assert text(line) == (
        " sluice  appliance.toml  READING  data 1.2 s old               14:02:31Z  ?help "
    )


def test_a_frozen_view_and_stale_data_are_words_not_only_colours():
    facts = replace(FACTS, is_frozen=True, age="STALE, data 5:00 old", age_tone="bad")
    assert "READING FROZEN  STALE, data 5:00 old" in text(top_line(facts, "?", 80))


def test_the_reason_why_nothing_newer_is_shown_is_in_the_top_line():
    facts = replace(FACTS, problem="KeyError: 'west'")
    assert "data 1.2 s old  FAILS: KeyError: 'west'" in text(top_line(facts, "?", 100))


def test_the_page_line_says_whether_the_cursor_follows_the_newest_row():
    view = first_view(EventsPage())
    page = built(view, snapshots.lagging(), snapshots.NOW)
    assert "follows  1 of 2" in text(page_line(page, view, (1, 2), 80))
    stays = replace(view, is_following=False)
    assert "does not follow  1 of 2" in text(page_line(page, stays, (1, 2), 80))
    routes = built(ViewState(page=RoutesPage()), snapshots.lagging(), snapshots.NOW)
    assert "follow" not in text(page_line(routes, view, (1, 2), 80))


def test_the_page_line_says_sort_filter_and_place():
    view = ViewState(page=RoutesPage(), filter="west", is_faults_only=True, is_wide=True)
    page = built(view.turned_round("routes"), snapshots.lagging(), snapshots.NOW)
    line = text(page_line(page, view, (1, 1), 100))
    assert "sort STATE, LAG, ROUTE, reversed" in line
    assert line.rstrip().endswith("faults only  wide  /west  1 of 1")


def test_the_current_screen_is_marked():
    line = screens_line(DEFAULT, "routes", 80)
    assert [piece.text for piece in line if piece.tone == "on"] == ["2 routes"]
    assert len(text(line)) == 80


def test_a_greyed_key_is_in_brackets_as_well():
    line = hints_line([Hint("enter", "in", True), Hint("esc", "out")], 40)
    assert text(line).strip() == "(enter in)  esc out"


def test_the_arrow_keys_come_first_where_they_push_nothing_out():
    found = hints(DEFAULT, (), is_replay=False, can_open=True)
    whole = text(hints_line(found, 80))
    assert whole.startswith(" ↑↓  enter in  esc out") and whole.rstrip().endswith("g groups")
    narrow = text(hints_line(found, 78))
    assert narrow.startswith(" enter in") and narrow.rstrip().endswith("g groups")


def test_arrow_keys_that_do_something_else_are_not_named():
    keymap = keymap_from('sort = "up"')
    assert hints(keymap, (), is_replay=False, can_open=True)[0] == Hint("enter", "in")


def test_actions_of_the_page_come_before_the_keys_of_the_console():
    pause = Action("H", "pause", ("balance", "pause"), confirmation="x")
    found = hints(DEFAULT, [(pause, "off")], is_replay=True, can_open=True)
    assert found[4] == Hint("H", "pause", True)
    assert found[5].label == "back"
