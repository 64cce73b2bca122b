"""Page of a stream, and the orders that it offers."""

from dataclasses import replace

import pytest

from tests.tui.console.snapshots import NOW, balance, empty, lagging
from tests.tui.console.typed_actions import command_of, parsed, typed_words
from tui.facts.balancing import CarrierLoad, MoveView
from tui.pages.page import NO_FOCUS, Row
from tui.pages.stream import BAR_WIDTH, StreamPage, bar, carrier_row
from tui.pages.stream_orders import topic_actions
from tui.steering.steered_command import as_typed

# --- Page of one stream, as a value.

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


# --- Actions on topics and partitions: the real commands, about exactly what is under the cursor.

ACTIONS = topic_actions("east>west", "orders", 17, parked=True)
OF_TOPIC = topic_actions("east>west", "orders", None, parked=True)


def partition_of(values):
    """Returns the only partition that a command is about; None: the whole topic."""
    found = values["partition"] if "partition" in values else values["numbers"]
    return next(iter(found), None) if isinstance(found, tuple) else found


@pytest.mark.parametrize(
    ("place", "path"),
    [(0, "stream pause-topic"), (1, "stream resume-topic"), (2, "stream rewind-topic")],
)
def test_an_action_is_about_the_partition_and_its_topic(place, path):
    found, values = command_of(ACTIONS[place])
    assert (found, values["topic"], partition_of(values)) == (path, "orders", 17)
    assert partition_of(command_of(OF_TOPIC[place])[1]) is None


def test_a_loss_is_accepted_for_the_partition_only():
    path, values = command_of(ACTIONS[3])
    assert (path, values["topics"], partition_of(values)) == ("accept-loss", ("orders",), 17)
    assert partition_of(command_of(OF_TOPIC[3])[1]) is None
    assert not values["yes"]


def test_no_field_can_change_what_the_confirmation_names():
    for action in (*ACTIONS, *OF_TOPIC):
        assert {field.name for field in action.fields} <= {"reason", "for", "to"}
        emptied = typed_words(action, **{field.name: " " for field in action.fields})
        assert emptied[-1] in ("orders", "17") or "--" in emptied


def test_a_topic_that_begins_with_a_hyphen_is_no_option():
    path, values = command_of(topic_actions("a>b", "-x", 3)[0])
    assert (path, values["topic"], partition_of(values)) == ("stream pause-topic", "-x", 3)


def test_losses_and_rewinding_are_only_copied():
    copied = {action.label for action in ACTIONS if action.is_copied}
    assert copied == {"rewind", "accept loss"}
    assert {action.label for action in ACTIONS if action.changes} == {"pause", "resume"}


def test_the_confirmation_names_topic_and_partition():
    assert ACTIONS[0].confirmation == "orders-17"
    assert topic_actions("a>b", "orders", None)[0].confirmation == "orders"


def test_without_a_topic_every_action_says_why_it_is_off():
    assert all(each.why_off for each in topic_actions("a>b", None, None))


def test_without_a_loss_there_is_none_to_accept():
    assert topic_actions("a>b", "orders", None)[-1].why_off == "nothing here is parked"
