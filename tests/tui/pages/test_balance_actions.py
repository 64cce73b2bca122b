"""Actions on a stream: every one is a real command with real options."""

from dataclasses import replace

import pytest

from tests.tui.console.snapshots import balance
from tests.tui.console.typed_actions import parsed
from tui.facts.balancing import OrderView
from tui.pages.balance_actions import (
    NO_STREAM,
    is_held,
    stream_actions,
    stream_label,
    subject_of,
)

BALANCE = balance("west")
(STREAM,) = BALANCE.streams
PAUSE, PIN = BALANCE.orders
HOLD = OrderView(
    kind="hold",
    route="east>west",
    stream="default",
    what="hold stream default",
    who="ann@ops",
    why="w",
    undo=("balance", "resume", "--route", "east>west", "--stream", "default"),
)
EXCLUDE = replace(
    HOLD,
    kind="exclude",
    stream=None,
    what="exclude carrier 1",
    undo=("balance", "include", "1", "--route", "east>west"),
)


def action(key, stream=STREAM, view=BALANCE, **more):
    return next(each for each in stream_actions(view, stream, **more) if each.key == key)


@pytest.mark.parametrize("key", ["P", "A", "H", "R", "D", "U", "X"])
def test_every_action_is_parsed_by_its_command(key):
    found = parsed(action(key))
    assert found["route_name"] == "east>west"
    assert action(key).changes is (key != "P")


def test_plan_and_apply_are_about_the_stream_and_its_generation():
    assert parsed(action("P"))["stream"] == "default" and not parsed(action("P"))["full"]
    assert parsed(action("P"), full="yes")["full"]
    apply = action("A")
    assert parsed(apply)["generation"] == 12 and apply.confirmation == "generation 12"


def test_nothing_is_applied_without_a_balancer_or_upon_an_unknown_generation():
    silent = replace(BALANCE, is_acting=False)
    assert "start `sluice balance --region west`" in action("A", view=silent).why_off
    assert "not known" in action("A", replace(STREAM, generation=None)).why_off
    assert action("A", view=replace(BALANCE, is_acting=None)).why_off is None


def test_a_hold_has_a_reason_and_perhaps_an_end():
    hold = action("H")
    assert parsed(hold)["reason"] == "load test" and parsed(hold)["duration"] == "30m"
    assert hold.confirmation == "east>west"


def test_resuming_is_off_where_nothing_is_held():
    assert "nothing holds" in action("R").why_off
    held = replace(BALANCE, orders=(HOLD,))
    assert action("R", view=held).why_off is None and is_held(held, STREAM)
    unknown = replace(BALANCE, orders=None)
    assert action("R", view=unknown).why_off is None and is_held(unknown, STREAM) is None


@pytest.mark.parametrize(
    ("order", "subject"),
    [(PAUSE, "clicks"), (PIN, "orders-17"), (HOLD, "east>west"), (EXCLUDE, "1")],
)
def test_the_order_under_the_cursor_is_ended_by_its_own_command(order, subject):
    end = action("R", order=order)
    assert (end.words, end.confirmation, end.why_off) == (order.undo, subject, None)
    assert parsed(end)["route_name"] == "east>west"
    assert subject_of(order) == subject


def test_an_order_that_is_carried_out_once_cannot_be_ended():
    once = action("R", order=replace(HOLD, kind="place", undo=()))
    assert once.why_off is not None


def test_forms_begin_with_what_is_under_the_cursor():
    pin = action("D", partition=("orders", 3), carrier=1)
    assert [field.preset for field in pin.fields[:3]] == ["orders", "3", "1"]
    found = parsed(pin)
    assert (found["topic"], found["partition"], found["carrier"]) == ("orders", 3, 1)
    assert parsed(action("X", carrier=2))["carrier"] == 2
    assert action("U", order=PIN).words == PIN.undo
    assert parsed(action("U"))["topic"] == "orders"


def test_without_a_stream_every_action_is_off():
    whys = {each.why_off for each in stream_actions(None, None)}
    assert whys == {NO_STREAM}


def test_a_named_stream_is_shown_behind_its_route():
    assert stream_label("west>east", "default") == "west>east"
    assert stream_label("west>east", "money") == "west>east/money"
