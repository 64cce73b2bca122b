"""Rules for the name, topics and limits of a stream."""

import pytest

from replicator.config.balance_settings import BalanceSettings, RouteBalance
from replicator.orders.order_records import Hold, Stream
from tests.tui.balance_records import FIELDS, ROUTE, log_of, placed, stream
from tui.facts.streams import LIMITS, limits_of
from tui.orders.stream_terms import (
    BadTerms,
    changed,
    check_carrier_bounds,
    check_limits,
    check_name,
    check_topics,
    records_about,
)


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
