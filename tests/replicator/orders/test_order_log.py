"""The content of an order log depends only on its newest records and on the time."""

import pytest

from balancer.topic_partition import TopicPartition
from replicator.orders.order_log import OrderLog, first_carrier
from replicator.orders.order_records import (
    UPTIME_MS_MAX,
    Exclusion,
    Hold,
    Pause,
    Pin,
    Placed,
    Stream,
    Uptime,
    key,
    key_of,
)

SAID = {"route": "west.east", "at_ms": 1, "who": "ann@host"}
PIN = Pin(**SAID, topic="t", partition=1, carrier=2)


def order_log_of(*records):
    return OrderLog().after((key_of(each), each) for each in records)


def test_a_newer_record_of_the_same_key_counts_instead():
    moved = PIN.model_copy(update={"carrier": 3})
    assert order_log_of(PIN, moved).pins("west.east", 0) == {TopicPartition("t", 1): 3}


def test_a_deleted_order_is_gone_and_no_other():
    order_log = order_log_of(PIN, Exclusion(**SAID, carrier=2)).after(
        [(key("pin", "west.east", "t", 1), None), (b"unknown", None)]
    )
    assert order_log.pins("west.east", 0) == {}
    assert order_log.excluded("west.east", 0) == {2: ""}


def test_an_order_is_over_at_its_time_and_not_before():
    order_log = order_log_of(Hold(**SAID, until_ms=10))
    assert order_log.hold("west.east", "default", 9)
    assert order_log.hold("west.east", "default", 10) is None


def test_the_orders_of_another_route_do_not_count():
    order_log = order_log_of(PIN, Pause(**SAID, topic="t"))
    assert order_log.pins("east.east", 0) == {}
    partitions = [TopicPartition("t", 0)]
    assert order_log.split("east.east", partitions, 0) == {"default": partitions}
    assert order_log.split("west.east", partitions, 0) == {"default": []}


def test_a_streams_patterns_are_for_whole_names():
    stream = Stream(**SAID, name="own", topics=("a|b",), first_carrier=1000)
    partitions = [TopicPartition(topic, 0) for topic in ("a", "ab", "b")]
    found = order_log_of(stream).split("west.east", partitions, 0)
    assert [each.topic for each in found["own"]] == ["a", "b"]


def test_patterns_that_do_not_compile_joined_with_each_other_match_each_by_itself():
    topics = (r"\Qpay.ments", "(?P<kind>order).*", "(?P<kind>click)s")
    stream = Stream(**SAID, name="own", topics=topics, first_carrier=1000)
    found = order_log_of(stream).streams_of("west.east", ["pay.ments", "payments", "orders"], 0)
    assert found == {"pay.ments": "own", "payments": "default", "orders": "own"}


def test_a_new_stream_gets_numbers_that_no_other_has():
    streams = [
        Stream(**SAID, name=name, topics=("a",), first_carrier=first)
        for name, first in (("a", 1000), ("b", 3000))
    ]
    assert first_carrier([]) == 1000
    assert first_carrier(streams) == 2000


@pytest.mark.parametrize(
    ("of_record", "of_placement", "uptime_ms"),
    [(None, {}, 0), (7, {}, 7), (7, {"uptime_ms": 9}, 9), (9, {"uptime_ms": 7}, 9)]
    + [(7, {"uptime_ms": wrong}, 7) for wrong in ("x", None, -1, UPTIME_MS_MAX)],
)
def test_the_uptime_of_balancers_is_the_longest_that_one_of_them_wrote(
    of_record, of_placement, uptime_ms
):
    placed = Placed(**SAID, stream="s", generation=1, carriers=(0,), topics={}, state=of_placement)
    records = [placed, *([Uptime(**SAID, uptime_ms=of_record)] if of_record else [])]
    assert order_log_of(*records).uptime_ms() == uptime_ms
