"""Lowered configs wait until the target has what the sources had."""

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.mirror.topics.lowerings import Lowerings

WEST, EAST = Route("west", "north"), Route("east", "north")
ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)
LOWER = {"orders": {"retention.ms": "1000"}}


def released(lowerings: Lowerings, value: str = "1000") -> bool:
    return lowerings.is_released("orders", "retention.ms", value)


def test_a_value_is_released_once_every_route_has_passed_every_end() -> None:
    lowerings = Lowerings()
    assert lowerings.keep(LOWER) == ["orders"]
    lowerings.begin("orders", {WEST: {ZERO: 5, ONE: 0}, EAST: {ZERO: 7}})
    assert lowerings.keep(LOWER) == []
    assert lowerings.awaited() == {WEST: {ZERO, ONE}, EAST: {ZERO}}
    assert not lowerings.advance({WEST: {ZERO: 5, ONE: 0}})
    assert not released(lowerings)
    assert not lowerings.advance({EAST: {ZERO: 6}})
    assert lowerings.advance({EAST: {ZERO: 7}})
    assert released(lowerings)
    assert not released(lowerings, "2000")


def test_nothing_is_released_before_the_ends_are_known() -> None:
    lowerings = Lowerings()
    lowerings.keep(LOWER)
    assert not lowerings.advance({WEST: {ZERO: 5}})
    assert not released(lowerings)


def test_a_value_that_was_raised_meanwhile_waits_anew() -> None:
    lowerings = Lowerings()
    lowerings.keep(LOWER)
    lowerings.begin("orders", {WEST: {ZERO: 5}})
    lowerings.advance({WEST: {ZERO: 5}})
    lowerings.keep({})
    assert not released(lowerings)
    assert lowerings.keep(LOWER) == ["orders"]
    assert lowerings.keep({"orders": {"retention.ms": "1"}}) == ["orders"]
