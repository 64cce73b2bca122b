"""Streams as an operator creates, changes, pauses and deletes them."""

import pytest

from replicator.config.balance_settings import BalanceSettings, RouteBalance
from replicator.orders.order_records import Hold, Pin, Stream
from tests.tui.balance_records import FIELDS, ROUTE, active_plan, log_of, placed, stream
from tests.tui.recording_client import RecordingClient, orders_of
from tui.facts.streams import LIMITS, UnknownStream, limits_of
from tui.orders.region_orders import Terms
from tui.orders.streams import (
    BadTerms,
    StreamExists,
    change_stream,
    changed,
    check_carrier_bounds,
    check_limits,
    check_name,
    check_topics,
    create_stream,
    delete_stream,
    records_about,
    set_paused,
)

SETTINGS = BalanceSettings()
TERMS = Terms("payments first")
PIN = Pin(**FIELDS, topic="pay", partition=0, carrier=1)


def create(client, warnings=None, name="money", topics=("pay.*",), **limits):
    orders = orders_of(client, warnings)
    return create_stream(orders, SETTINGS, ROUTE, name, topics, limits, TERMS)


def change(client, topics=(), unset=(), why=None, name="money", **limits):
    return change_stream(
        orders_of(client), SETTINGS, ROUTE, name, topics, limits or {"threshold": None}, unset, why
    )


def test_a_new_stream_has_its_limits_and_carriers_of_its_own():
    client = RecordingClient(plan=active_plan())
    (made,) = create(client, threshold=0.5, carriers_max=None).written
    assert (made.name, made.topics, made.why) == ("money", ("pay.*",), "payments first")
    assert (made.first_carrier, made.threshold, made.carriers_max) == (1000, 0.5, None)


def test_a_new_stream_deletes_what_a_deleted_one_of_its_name_left():
    rest = placed(stream="money", first=1000)
    client = RecordingClient(rest, plan=active_plan())
    create(client)
    assert len(client.deleted) == 1


def test_pins_that_become_void_and_a_stream_without_topics_are_warned_of():
    warnings: list[str] = []
    create(RecordingClient(PIN, plan=active_plan()), warnings)
    assert "pay-0 is pinned to carrier 1" in warnings[0] and len(warnings) == 1
    create(RecordingClient(plan=active_plan()), warnings, topics=("gold",))
    assert warnings[1] == "no topic that is carried belongs to stream money now"


def test_a_stream_is_created_once():
    with pytest.raises(StreamExists, match="see `sluice stream change`"):
        create(RecordingClient(stream()))


@pytest.mark.parametrize(
    "mistake", [{"name": "Money"}, {"topics": ("(",)}, {"threshold": 7.0}, {"carriers_min": 0}]
)
def test_a_mistake_is_found_before_the_order_log_is_read(mistake):
    client = RecordingClient()
    with pytest.raises(BadTerms):
        create(client, **mistake)
    assert client.writes == 0


def test_a_change_keeps_what_is_not_given():
    client = RecordingClient(stream(threshold=0.5, carriers_min=2), plan=active_plan())
    (after,) = change(client, topics=("orders",), unset=["threshold"], carriers_max=3).written
    assert (after.topics, after.why) == (("orders",), "w")
    assert (after.threshold, after.carriers_min, after.carriers_max) == (None, 2, 3)
    with pytest.raises(BadTerms, match="--carriers-max"):
        change(client, carriers_max=1)
    with pytest.raises(BadTerms, match="nothing to change"):
        change(client)


def test_a_deleted_stream_takes_the_records_about_it_along():
    client = RecordingClient(stream(), placed(stream="money"), Hold(**FIELDS, stream="money"))
    assert len(delete_stream(orders_of(client), ROUTE, "money").taken_back) == 2
    assert len(client.deleted) == 3


def test_the_default_stream_can_be_neither_changed_nor_deleted():
    for action in (
        lambda orders: delete_stream(orders, ROUTE, "default"),
        lambda orders: set_paused(orders, ROUTE, "default", True, "why"),
    ):
        with pytest.raises(BadTerms, match='stream "default"'):
            action(orders_of(RecordingClient()))
    with pytest.raises(UnknownStream):
        delete_stream(orders_of(RecordingClient()), ROUTE, "money")


def test_a_stream_is_paused_once_and_keeps_its_reason_when_it_is_resumed():
    running, paused = RecordingClient(stream()), RecordingClient(stream(is_paused=True, why="x"))
    (order,) = set_paused(orders_of(running), ROUTE, "money", True, "maintenance").written
    assert (order.is_paused, order.why) == (True, "maintenance")
    assert set_paused(orders_of(paused), ROUTE, "money", True, "again").written == ()
    (order,) = set_paused(orders_of(paused), ROUTE, "money", False, None).written
    assert (order.is_paused, order.why) == (False, "x")


def test_a_stream_can_have_every_limit_that_a_route_can_have():
    assert set(LIMITS) == set(RouteBalance.model_fields) <= set(Stream.model_fields)


@pytest.mark.parametrize("name", ["default", "", "Orders", "a_b", "-a", "a" * 101])
def test_names_are_like_those_of_regions_and_not_default(name):
    with pytest.raises(BadTerms):
        check_name(name)
    check_name("orders-2")


@pytest.mark.parametrize("topics", [("(",), ("",), ("a", "a"), ("(?=x)",)])
def test_patterns_are_what_re2_takes(topics):
    with pytest.raises(BadTerms, match="--topics"):
        check_topics(topics)
    check_topics(("pay.*", "orders|clicks"))


@pytest.mark.parametrize(
    ("limits", "option"),
    [
        ({"threshold": 1.5}, "--threshold"),
        ({"carriers_min": 0}, "--carriers-min"),
        ({"carriers_max": 1001}, "--carriers-max"),
        ({"partitions_max": 0}, "--partitions-max"),
        ({"lag_seconds_max": float("nan")}, "--lag-seconds-max"),
        ({"capacity_mib_per_second": -1.0}, "--capacity-mib-per-second"),
    ],
)
def test_limits_have_the_bounds_of_the_configuration(limits, option):
    with pytest.raises(BadTerms, match=option):
        check_limits(limits)


def test_limits_that_are_not_given_are_not_checked():
    check_limits(dict.fromkeys(LIMITS))
    check_limits({"threshold": 0.5, "carriers_max": 0})


def test_carriers_min_is_not_above_carriers_max_wherever_each_comes_from():
    settings = BalanceSettings(carriers_max=4, routes={"west>east": RouteBalance(carriers_max=2)})
    with pytest.raises(BadTerms, match="--carriers-max"):
        check_carrier_bounds({"carriers_min": 3}, settings, "west>east")
    check_carrier_bounds({"carriers_min": 3}, settings, "east>east")
    check_carrier_bounds({"carriers_min": 3, "carriers_max": 0}, settings, "west>east")


def test_a_change_sets_what_is_given_and_nothing_else():
    before = stream(threshold=0.5, carriers_max=3, is_paused=True)
    after = changed(
        before, (), {"threshold": 0.6}, ("carriers_max",), why=None, who="eve@ops", at_ms=9
    )
    assert limits_of(after) == {"threshold": 0.6}
    assert (after.topics, after.why, after.is_paused) == (before.topics, before.why, True)
    assert (after.who, after.at_ms) == ("eve@ops", 9)
    new = changed(before, ("a", "b"), {}, (), why="more", who="eve@ops", at_ms=9)
    assert (new.topics, new.why) == (("a", "b"), "more")


def test_records_about_a_stream_are_its_own_and_of_its_route():
    own = [placed(stream="money", first=1000), Hold(**FIELDS, stream="money")]
    others = [placed(), Hold(**FIELDS), Hold(**{**FIELDS, "route": "east.east"}, stream="money")]
    assert set(map(type, records_about(log_of(stream(), *own, *others), ROUTE.key, "money"))) == {
        type(each) for each in own
    }
    assert len(records_about(log_of(stream(), *own, *others), ROUTE.key, "money")) == 2
