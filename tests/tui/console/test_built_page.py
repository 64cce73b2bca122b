"""Built pages: order, filter, faults only, cursor by key."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.tui.console import snapshots
from tui.console.built_page import built, built_or_failed, next_sort, ordered
from tui.console.list_page import ListPage
from tui.console.view_state import ViewState
from tui.pages.events import EventsPage
from tui.pages.overview import OverviewPage
from tui.pages.page import Cell, Column, Row, Section
from tui.pages.partitions import PartitionsPage
from tui.pages.rows import LazyRows

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
