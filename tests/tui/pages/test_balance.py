"""Page of all streams, as a value."""

from dataclasses import replace

import pytest

from tests.tui.console.snapshots import NOW, balance, empty, healthy, lagging
from tui.facts.balancing import BalanceAlert, BalanceView, OrderView, StreamView
from tui.pages.balance import (
    BalancePage,
    acting_text,
    matching_text,
    region_row,
    state_of,
    stream_row,
    topic_cells,
)
from tui.pages.page import NO_FOCUS, Row
from tui.pages.stream import StreamPage

PAGE = BalancePage()
VIEW = balance("west")
CALM = replace(VIEW.streams[0], alerts=())
HOLD = OrderView(kind="hold", route="east>west", stream="default", what="h", who="a", why="w")


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({}, "OK"),
        ({"alerts": (BalanceAlert(name="hot partition", text="t"),)}, "HOT"),
        ({"alerts": (BalanceAlert(name="lagging", text="t"),)}, "ALERT"),
        ({"degraded": "no measurement"}, "NO LOAD"),
        ({"is_paused": True}, "PAUSED"),
        ({"held": "too few executors"}, "HELD"),
        ({"generation": 0}, "BY COUNT"),
        ({"generation": None}, "?"),
        ({"is_paused": None}, "?"),
    ],
)
def test_the_state_of_a_stream_is_said_in_words(more, state):
    assert state_of(replace(VIEW, orders=()), replace(CALM, **more)) == state


def test_a_stream_that_an_operator_holds_is_held():
    assert state_of(replace(VIEW, orders=(HOLD,)), CALM) == "HELD"


def test_a_stream_shows_its_load_bound_ratio_and_certificate():
    section = PAGE.sections(lagging(), NOW)[0]
    texts = {
        c.title: cell.text for c, cell in zip(section.columns, section.rows[0].cells, strict=True)
    }
    assert (texts["GEN"], texts["PARTS"], texts["CARRIERS"]) == ("12", "76", "4")
    assert (texts["HEAVIEST"], texts["BOUND"], texts["RATIO"], texts["CERT"]) == (
        "0.62",
        "0.60",
        "1.03",
        "1",
    )
    assert section.rows[0].why.startswith("hot partition: orders-17")


def test_after_a_full_plan_there_is_no_certificate_and_unknown_is_a_question_mark():
    titles = [column.title for column in PAGE.sections(healthy(), NOW)[0].columns]
    at = titles.index("CERT")
    assert stream_row(VIEW, replace(CALM, certificate=None), NOW).cells[at].text == "-"
    unplaced = replace(CALM, certificate=None, placed_at_ms=None, heaviest=None, carriers=None)
    cells = stream_row(VIEW, unplaced, NOW).cells
    assert [cells[titles.index(it)].text for it in ("CERT", "HEAVIEST", "RATIO", "CARRIERS")] == [
        "?"
    ] * 4


@pytest.mark.parametrize(
    ("more", "text", "is_fault"),
    [
        ({}, "balance repl-a 417 acts", False),
        ({"is_acting": False}, "balance repl-a 417 DOES NOT ACT", True),
        ({"is_acting": False, "lease_who": None}, "none has ever acted", True),
        ({"is_acting": None}, "? its orders are not known", True),
    ],
)
def test_a_region_says_who_balances_it(more, text, is_fault):
    view = replace(VIEW, **more)
    assert text in acting_text(view)[0]
    assert region_row(view, NOW).is_fault is is_fault


def test_a_problem_of_a_region_is_its_why():
    view = BalanceView(region="west", problems=("Redis at x: refused", "second"))
    assert region_row(view, NOW).why == "Redis at x: refused"
    snapshot = replace(healthy(), balance=(view,))
    assert PAGE.notes(snapshot, Row("west", ()), NOW) == view.problems
    texts = [cell.text for cell in region_row(view, NOW).cells]
    assert texts[2:] == ["?"] * 5


def test_enter_opens_a_stream_and_on_a_region_its_worst_one():
    snapshot = lagging()
    streams, regions = PAGE.sections(snapshot, NOW)
    assert PAGE.opened(snapshot, streams.rows[0]) == StreamPage("east>west", "default")
    worse = replace(VIEW, streams=(CALM, replace(CALM, stream="money", generation=None)))
    snapshot = replace(snapshot, balance=(worse,))
    assert PAGE.opened(snapshot, regions.rows[0]) == StreamPage("east>west", "money")
    assert PAGE.opened(snapshot, Row("gone", ())) is None


def test_actions_are_about_the_stream_under_the_cursor():
    snapshot = lagging()
    row = PAGE.sections(snapshot, NOW)[0].rows[0]
    assert PAGE.actions(snapshot, row, NOW)[0].why_off is None
    assert PAGE.actions(snapshot, None, NOW)[0].why_off == "no stream under the cursor"
    assert PAGE.focus() == NO_FOCUS


def test_before_any_answer_nothing_is_known():
    streams, regions = PAGE.sections(empty(), NOW)
    assert (streams.empty, regions.empty) == (
        "no stream is known yet",
        "balancing is not known yet",
    )


def test_more_alerts_and_why_nothing_moves_are_below_the_table():
    held = replace(CALM, held="frozen", degraded="no measurement", alerts=VIEW.streams[0].alerts)
    snapshot = replace(healthy(), balance=(replace(VIEW, streams=(held,)),))
    row = PAGE.sections(snapshot, NOW)[0].rows[0]
    assert PAGE.notes(snapshot, row, NOW) == [
        "nothing moves that need not: frozen",
        "loads are not known: no measurement",
    ]


def test_of_many_topics_the_first_are_named():
    assert matching_text({}) == "-"
    assert matching_text(dict.fromkeys("edcba", 1)) == "a b c and 2 more"


def test_a_stream_shows_what_its_operator_has_set_and_unknown_as_such():
    cells = [cell.text for cell in topic_cells(replace(CALM, matching={"orders": 76}))]
    assert cells == ["no", "all others", "orders", "76", "0-3", "-", "-", "-"]
    own = replace(CALM, stream="money", topics=("pay.*", "x"), limits={"threshold": 0.5}, who="a")
    assert [cell.text for cell in topic_cells(own)][1:6] == [
        "pay.* x",
        "?",
        "?",
        "0-3",
        "threshold=0.5",
    ]
    unknown = StreamView(route="east>west", stream="money")
    assert [cell.text for cell in topic_cells(unknown)][:5] == ["?"] * 5
