"""Built pages: order, filter, faults only, cursor by key, errors."""

import threading
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.console import snapshots
from tui.console.built_page import (
    BuiltPage,
    built,
    built_or_failed,
    failed_page,
    failed_row,
    next_sort,
    ordered,
)
from tui.console.list_page import ListPage
from tui.console.page_builder import PageBuilder, PageRequest
from tui.console.row_filter import BadFilter, escaped, matcher_of, words_matcher
from tui.console.view_state import ViewState
from tui.pages.events import EventsPage
from tui.pages.overview import OverviewPage
from tui.pages.page import NO_FOCUS, Cell, Column, Row, Section
from tui.pages.partitions import PartitionsPage
from tui.pages.routes import RoutesPage
from tui.pages.rows import LazyRows

# --- State of a view: sort and order of its own.


def test_sections_are_sorted_and_turned_round_apart():
    view = ViewState(page=RoutesPage()).sorted_by("routes", ("-LAG",)).turned_round("routes")
    assert view.sorts == {"routes": ("-LAG",)}
    assert view.reversed == {"routes"}
    assert view.turned_round("routes").reversed == frozenset()


# --- Filter of rows: expressions of operators, and words.

ANY = st.text(st.characters(exclude_categories=()), min_size=1, max_size=30)


def test_an_exclamation_mark_inverts_a_filter():
    matches = matcher_of("!orders-[0-9]+")
    assert matches is not None
    assert not matches("ORDERS-17") and matches("trades")


@pytest.mark.parametrize("text", ["", "!"])
def test_an_empty_filter_keeps_all(text):
    assert matcher_of(text) is None
    assert words_matcher([]) is None


@pytest.mark.parametrize("text", ["orders[", r"(a)\1", "(?=a)", "\udc80["])
def test_a_filter_that_is_no_regular_expression_is_told(text):
    with pytest.raises(BadFilter, match="no regular expression: "):
        matcher_of(text)


def test_no_expression_holds_the_console_up():
    matches = matcher_of(r"^(\w+\s?)*\$")
    assert matches is not None
    began = time.perf_counter()
    assert not matches("orders " * 1000 + "!")
    assert time.perf_counter() - began < 1.0


def test_all_words_have_to_be_there_in_any_order():
    matches = words_matcher(["East", "orders"])
    assert matches is not None
    assert matches("topic Orders east>west") and not matches("topic orders west>west")


@given(ANY, ANY)
def test_an_escaped_text_finds_itself_whatever_is_in_it(text, around):
    matches = matcher_of(escaped(text))
    assert matches is not None and matches(around + text)


# --- Page of a list.


def test_a_list_has_its_sections_and_nothing_else():
    section = Section("s", (), [])
    page, empty = ListPage("heading", (section,)), snapshots.empty()
    assert (page.name, page.title(empty)) == ("list", "heading")
    assert page.sections(empty, 0.0) == (section,)
    assert page.opened(empty, Row("a", ())) is None
    assert (page.actions(empty, None, 0.0), page.notes(empty, None, 0.0)) == ((), ())
    assert page.focus() is NO_FOCUS


# --- Built pages: order, filter, faults only, cursor by key.

COLUMNS = (Column("NAME", 6), Column("LAG", 6, is_right=True))
LAGS = {"a": 3, "b": None, "c": 9, "d": 3}
ROWS = [Row(k, (Cell(k, sort=k), Cell(str(v), sort=v)), is_fault=v == 9) for k, v in LAGS.items()]
SECTION = Section("lags", COLUMNS, ROWS, sort=("-LAG", "NAME"))
PAGE = ListPage("lags", (SECTION,))
VIEW = ViewState(page=PAGE)
EMPTY = snapshots.empty()


def keys(view: ViewState) -> list[str]:
    (section,) = built(view, EMPTY, 0.0).sections
    return list(section.keys)


def test_unknown_comes_first_in_either_direction_and_last_when_turned_round():
    assert keys(VIEW) == ["b", "c", "a", "d"]
    assert keys(VIEW.sorted_by("lags", ("LAG", "NAME"))) == ["b", "a", "d", "c"]
    assert keys(VIEW.turned_round("lags")) == ["d", "a", "c", "b"]


def test_a_filter_keeps_what_it_matches_and_an_inverted_one_the_rest():
    assert keys(replace(VIEW, filter="[ac]")) == ["c", "a"]
    assert keys(replace(VIEW, filter="![ac]")) == ["b", "d"]


def test_a_bad_filter_is_told_and_keeps_all():
    found = built(replace(VIEW, filter="["), EMPTY, 0.0)
    assert found.row_count == 4
    assert found.problem is not None and "no regular expression" in found.problem


def test_faults_only_says_how_many_rows_it_leaves_out():
    (section,) = built(replace(VIEW, is_faults_only=True), EMPTY, 0.0).sections
    assert (list(section.keys), section.filtered) == (["c"], 3)


def test_rows_max_cuts_all_sections_but_the_last():
    short = replace(SECTION, name="short", rows_max=1)
    first, last = built(ViewState(page=ListPage("", (short, short))), EMPTY, 0.0).sections
    assert (len(first.order), first.hidden) == (1, 3)
    assert (len(last.order), last.hidden) == (4, 0)


def test_the_cursor_follows_its_row_and_stays_near_when_the_row_is_gone():
    found = built(VIEW, EMPTY, 0.0)
    assert found.cursor_at(("lags", "d"), 0) == 3
    assert found.cursor_at(("lags", "gone"), 2) == 2
    assert found.cursor_at(("lags", "gone"), 99) == 3
    assert found.cursor(1) == ("lags", "c")
    assert found.row(9) is None


def test_the_next_sort_goes_round_and_numbers_begin_with_the_largest():
    assert next_sort(COLUMNS, ()) == ("NAME",)
    assert next_sort(COLUMNS, ("NAME",)) == ("-LAG",)
    assert next_sort(COLUMNS, ("-LAG", "NAME")) == ("NAME",)


@given(st.lists(st.none() | st.floats(allow_nan=False) | st.text()))
def test_any_values_can_be_sorted_and_none_is_lost(values):
    rows = [Row(str(at), (Cell("", sort=value),)) for at, value in enumerate(values)]
    order = ordered(rows, list(range(len(rows))), (Column("X", 3),), ("-X",))
    assert sorted(order) == list(range(len(rows)))
    unknown = [values[at] is None for at in order]
    assert unknown == sorted(unknown, reverse=True)


def failing(_: object) -> Row:
    raise ZeroDivisionError


def test_ten_thousand_partitions_make_no_row_to_be_sorted():
    snapshot = snapshots.many(of_topic=2_500)
    (section,) = PartitionsPage("west>east", "topic-000").sections(snapshot, 0.0)
    assert isinstance(section.rows, LazyRows)
    never = replace(section, rows=replace(section.rows, make=failing))
    (found,) = built(ViewState(page=ListPage("", (never,))), snapshot, 0.0).sections
    assert len(found.order) == 2_500
    assert found.keys[:3] == ["41", "1038", "2035"]
    assert "ZeroDivisionError" in found.row(0).why


def test_all_words_of_a_view_have_to_be_in_a_row():
    assert keys(replace(VIEW, words=("C", "9"))) == ["c"]


def test_an_error_of_a_page_becomes_a_page_with_the_error():
    found = built_or_failed(ViewState(page=ListPage("broken", None)), EMPTY, 0.0)
    assert (found.title, found.row_count) == ("list   cannot be shown", 0)


class Odd(ListPage):
    """Page whose parts all fail."""

    def opened(self, snapshot, row):
        raise KeyError("opened")

    def actions(self, snapshot, row, now):
        raise KeyError("actions")

    def notes(self, snapshot, row, now):
        raise KeyError("notes")


def test_no_error_of_a_page_gets_into_the_thread_of_the_screen():
    found = built(ViewState(page=Odd("odd", (SECTION,))), EMPTY, 0.0)
    assert found.opened(ROWS[0]) is None
    assert found.actions(ROWS[0]) == ()
    assert found.notes(ROWS[0]) == ("cannot be shown, please report it: KeyError: 'notes'",)


def test_the_newest_row_is_at_the_end_at_which_new_ones_arrive():
    def newest(view: ViewState) -> int | None:
        return built(view, snapshots.lagging(), 0.0).newest_at()

    view = ViewState(page=EventsPage())
    assert newest(view) == 0
    assert newest(view.turned_round("events")) == 1
    assert newest(view.sorted_by("events", ("TIME",))) == 1
    assert newest(view.sorted_by("events", ("TEXT",))) is None
    assert newest(replace(view, filter="nothing")) is None
    assert newest(VIEW) is None


def test_a_page_begins_on_the_first_of_its_sections_that_has_rows():
    gone = built(ViewState(page=OverviewPage()), snapshots.region_gone(), snapshots.NOW)
    first = gone.row(gone.start_at())
    assert first is not None and first.key == snapshots.alerts()[0].key
    calm = built(ViewState(page=OverviewPage()), snapshots.healthy(), snapshots.NOW)
    assert calm.cursor(calm.start_at()) == ("routes", "east>east")
    empty = built(ViewState(page=OverviewPage()), snapshots.empty(), snapshots.NOW)
    assert empty.start_at() == 0


# --- Page in place of one that failed.

BROKEN = failed_page("alerts", ValueError("year 29402 is out of range"))


def test_it_says_the_error_and_nothing_else():
    (section,) = BROKEN.sections(EMPTY, 0.0)
    assert section.rows == ()
    assert section.empty == (
        "cannot be shown, please report it: ValueError: year 29402 is out of range"
    )
    assert BROKEN.name == "alerts"
    assert BROKEN.title(EMPTY) == "alerts   cannot be shown"
    assert BROKEN.opened(EMPTY, Row("x", ())) is None
    assert (
        BROKEN.actions(EMPTY, None, 0.0),
        BROKEN.notes(EMPTY, None, 0.0),
    ) == ((), ())
    assert BROKEN.focus() == NO_FOCUS


def test_a_row_that_cannot_be_made_has_its_error_below_the_table():
    row = failed_row("key", 3, KeyError("level"))
    assert [cell.text for cell in row.cells] == ["!", "!", "!"]
    assert row.is_fault and "KeyError: 'level'" in row.why


# --- Builder of pages: the last request counts, and a page that fails becomes one with its error.


def test_a_request_that_was_not_begun_is_dropped_for_a_newer_one():
    made: list[int] = []
    done = threading.Event()

    def on_built(request: PageRequest, page: object) -> None:
        assert isinstance(page, BuiltPage)
        made.append(request.number)
        done.set()

    builder = PageBuilder(on_built)
    for number in (1, 2, 3):
        builder.request(
            PageRequest(number, ViewState(page=RoutesPage()), snapshots.healthy(), snapshots.NOW)
        )
    builder.start()
    assert done.wait(10)
    builder.close()
    assert made == [3]


def test_a_page_that_fails_is_replaced_by_its_error():
    found: list[BuiltPage] = []
    done = threading.Event()

    def on_built(_: PageRequest, page: BuiltPage) -> None:
        found.append(page)
        done.set()

    builder = PageBuilder(on_built)
    builder.start()
    broken = ViewState(page=ListPage("broken", None))
    builder.request(PageRequest(1, broken, snapshots.empty(), 0.0))
    assert done.wait(10)
    builder.close()
    assert found[0].title == "list   cannot be shown"
