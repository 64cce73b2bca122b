"""Streams of a route, with the carriers and partitions that they have now."""

import pytest

from balancer.topic_partition import TopicPartition
from tests.tui.balance_records import NOW_MS, ROUTE, active_plan, log_of, placed
from tests.tui.balance_records import stream as stream_of
from tui.facts.streams import (
    UnknownStream,
    carriers_of,
    find_stream,
    matching_topics,
    topics_not_carried,
)

ORDER_LOG = log_of(placed(), stream_of())


def test_an_unknown_stream_is_refused_with_the_names_there_are():
    assert find_stream(ORDER_LOG, ROUTE.key, "default", NOW_MS) is None
    assert find_stream(ORDER_LOG, ROUTE.key, "money", NOW_MS) == stream_of()
    with pytest.raises(UnknownStream, match="no stream 'gold' on route west>east.*default, money"):
        find_stream(ORDER_LOG, ROUTE.key, "gold", NOW_MS)


def test_without_a_placement_the_carriers_are_those_of_the_driver():
    assert carriers_of(log_of(), active_plan(), ROUTE.key, "default", NOW_MS) == (0, 1)
    assert carriers_of(log_of(), None, ROUTE.key, "default", NOW_MS) == ()
    assert carriers_of(ORDER_LOG, active_plan(), ROUTE.key, "money", NOW_MS) == ()


def test_a_stream_that_has_expired_is_unknown_even_while_its_placement_is_there():
    order_log = log_of(stream_of(until_ms=NOW_MS), placed(1, "money", 1000))
    assert carriers_of(order_log, active_plan(), ROUTE.key, "money", NOW_MS - 1) == (1000, 1001)
    for there in (order_log, log_of(stream_of(until_ms=NOW_MS))):
        with pytest.raises(UnknownStream):
            carriers_of(there, active_plan(), ROUTE.key, "money", NOW_MS)


def test_topics_that_are_not_carried_are_found_if_there_is_an_active_plan():
    assert topics_not_carried(["orders", "gold"], active_plan(), ROUTE.key) == ["gold"]
    assert topics_not_carried(["orders", "gold"], None, ROUTE.key) == []


def test_topics_are_counted_by_the_stream_that_they_match_paused_ones_too():
    plan = active_plan(TopicPartition("pay", 7))
    found = matching_topics(ORDER_LOG, plan, ROUTE.key, NOW_MS)
    assert found == {"default": {"orders": 3}, "money": {"pay": 2}}
