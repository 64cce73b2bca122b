"""Page of one stream, as a value."""

from dataclasses import replace

import pytest

from tests.tui.console.snapshots import NOW, balance, empty, lagging
from tests.tui.console.typed_actions import parsed
from tui.facts.balancing import CarrierLoad, MoveView
from tui.pages.page import NO_FOCUS, Row
from tui.pages.stream import BAR_WIDTH, StreamPage, bar, carrier_row
from tui.steering.steered_command import as_typed

PAGE = StreamPage("east>west", "default")
VIEW = balance("west")
ORDERS = VIEW.orders or ()


def sections(snapshot=None, page=PAGE):
    return {each.name: each for each in page.sections(snapshot or lagging(), NOW)}


def changed(**more):
    """Returns a snapshot whose stream has other values."""
    stream = replace(VIEW.streams[0], **more)
    return replace(lagging(), balance=(replace(VIEW, streams=(stream,)),))


def texts(section, at=0):
    cells = section.rows[at].cells
    return {column.title: cell.text for column, cell in zip(section.columns, cells, strict=True)}


@pytest.mark.parametrize(
    ("load", "filled", "end"),
    [(0.0, 0, ""), (0.5, 14, ""), (1.0, BAR_WIDTH - 1, ""), (1.7, BAR_WIDTH - 1, ">")],
)
def test_a_load_is_drawn_as_a_bar_and_too_much_is_said(load, filled, end):
    text = bar(load)
    assert text.count("█") == filled and len(text) == BAR_WIDTH - 1 + len(end)
    assert text.endswith(end)


def test_an_unknown_load_has_no_bar():
    stream = VIEW.streams[0]
    row = carrier_row((stream, CarrierLoad(number=0, partitions=3)))
    assert [cell.text for cell in row.cells] == ["0", "?", "3", "?", "", "east>west"]
    assert carrier_row((stream, CarrierLoad(number=0, partitions=3, load=1.01))).is_fault


def test_carriers_alerts_orders_and_moves_are_shown():
    found = sections()
    assert list(found) == ["alerts", "carriers", "orders", "moves"]
    assert found["alerts"].rows[0].why.startswith("orders-17 takes 0.84")
    assert texts(found["carriers"], 3)["HOST"] == "repl-d"
    assert found["carriers"].heading == "heaviest 0.62   bound 0.60   ratio 1.03   certificate 1"
    assert texts(found["orders"], 1)["ENDS"] == "1 h 57 min"
    assert texts(found["moves"])["FROM"] == "1"
    assert found["moves"].heading.startswith("MOVES 1 at 2026-11-21 13:32:31Z, 30:00 ago")


def test_without_loads_the_reason_stands_in_their_place():
    found = sections(changed(heaviest=None, degraded="no measurement", alerts=(), carriers=None))
    assert "alerts" not in found
    assert found["carriers"].heading == "loads are not known: no measurement"
    assert found["carriers"].empty == "carriers are not known"


def test_a_partition_that_is_new_had_no_carrier_before():
    new = MoveView(topic="t", partition=0, source=None, target=2, reason="new")
    assert texts(sections(changed(moves=(new,)))["moves"])["FROM"] == "new"


def test_orders_about_other_streams_and_routes_are_left_out():
    orders = (
        replace(ORDERS[0], stream="money"),
        replace(ORDERS[1], route="west>west"),
        ORDERS[1],
    )
    snapshot = replace(lagging(), balance=(replace(VIEW, orders=orders),))
    assert len(sections(snapshot)["orders"].rows) == 1
    unknown = replace(lagging(), balance=(replace(VIEW, orders=None),))
    assert sections(unknown)["orders"].empty == "orders are not known"


def test_the_order_under_the_cursor_is_ended_by_the_command_that_is_shown():
    snapshot = lagging()
    for row in sections(snapshot)["orders"].rows:
        end = next(it for it in PAGE.actions(snapshot, row, NOW) if it.key == "R")
        assert parsed(end)["route_name"] == "east>west"
        assert PAGE.notes(snapshot, row, NOW) == (f"ended by: {as_typed(end.words)}",)
    once = replace(VIEW, orders=(replace(ORDERS[0], undo=()),))
    snapshot = replace(snapshot, balance=(once,))
    row = sections(snapshot)["orders"].rows[0]
    assert "cannot be taken back" in PAGE.notes(snapshot, row, NOW)[0]


def test_forms_begin_with_the_carrier_or_the_move_under_the_cursor():
    snapshot = lagging()
    found = sections(snapshot)
    exclude = next(
        it for it in PAGE.actions(snapshot, found["carriers"].rows[3], NOW) if it.key == "X"
    )
    assert parsed(exclude)["carrier"] == 3
    pin = next(it for it in PAGE.actions(snapshot, found["moves"].rows[0], NOW) if it.key == "D")
    assert [field.preset for field in pin.fields[:3]] == ["orders", "3", "1"]


def test_why_nothing_moves_is_below_the_tables():
    snapshot = changed(held="frozen")
    assert PAGE.notes(snapshot, Row("carrier 0", ()), NOW) == (
        "nothing moves that need not: frozen",
    )
    assert PAGE.notes(lagging(), None, NOW) == ()


def test_a_stream_that_was_deleted_says_so():
    (section,) = PAGE.sections(empty(), NOW)
    assert section.empty == "this stream is not known"
    assert PAGE.title(empty()) == "balance > east>west"
    assert PAGE.title(lagging()) == "balance > east>west   generation 12   76 partitions"
    assert PAGE.focus() == NO_FOCUS and PAGE.opened(lagging(), Row("x", ())) is None
    assert {each.why_off for each in PAGE.actions(empty(), None, NOW)} == {
        "no stream under the cursor"
    }
