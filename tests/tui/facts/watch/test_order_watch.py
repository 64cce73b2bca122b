"""Order log that is read on with each question, from a tailer that plays its topic.

The topic of a real cluster is tested live (tests/live/test_group_questions.py).
"""

import time

import pytest

from replicator.kafka.tail.tail_position import Portion, TailPosition, VersionedRecord
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.orders.order_records import key_of
from tests.tui.balance_records import NOW_MS, ROUTE, lease, placed, stream
from tui.facts.watch.order_watch import OrderWatch

START = TailPosition("id", 1)


class Topic:
    """Topic of one partition: a list of records, each delivered once by the poll after it."""

    def __init__(self, *records):
        self.records = list(records)
        self.followed = 0
        self.is_missing = False
        self.is_cut = False
        self.is_silent = False

    def topics(self, names):
        return [] if self.is_missing else list(names)

    def follow(self, positions):
        assert positions == {}
        self.followed += 1
        read = 0
        yield {0: Portion(START, START)}
        while not self.is_cut:
            new, read = self.records[read:], len(self.records)
            told = tuple(VersionedRecord((1, 0), (key_of(each), each)) for each in new)
            caught_up_ms = None if self.is_silent else time.time_ns() // 1_000_000
            yield {0: Portion(START, START._replace(offset=read), told, caught_up_ms)}
        self.is_cut = False


def watch(topic, timeout_seconds=5.0):
    return OrderWatch(topic, topic, timeout_seconds)


def test_the_topic_is_read_once_and_then_only_what_is_new():
    topic = Topic(placed())
    orders = watch(topic)
    assert orders.read().placed(ROUTE.key, "default") == placed()
    topic.records += [placed(generation=4), lease()]
    again = orders.read()
    assert again.placed(ROUTE.key, "default").generation == 4 and again.lease("east") == lease()
    assert topic.followed == 1


def test_without_the_topic_there_are_no_orders_and_it_is_read_once_it_is_there():
    topic = Topic(stream())
    topic.is_missing = True
    orders = watch(topic)
    assert orders.read().records == {}
    topic.is_missing = False
    assert orders.read().streams(ROUTE.key, NOW_MS) == [stream()]


def test_a_topic_that_was_cut_is_read_from_its_beginning():
    topic = Topic(placed(), stream())
    orders = watch(topic)
    orders.read()
    topic.records, topic.is_cut = [placed(generation=1)], True
    again = orders.read()
    assert again.placed(ROUTE.key, "default").generation == 1
    assert again.streams(ROUTE.key, NOW_MS) == []
    assert topic.followed == 2


def test_a_log_whose_end_is_not_reached_in_time_is_unreadable_and_read_anew_later():
    topic = Topic(placed())
    topic.is_silent = True
    orders = watch(topic, timeout_seconds=0.01)
    with pytest.raises(LogUnreadable, match="not read to its end"):
        orders.read()
    topic.is_silent = False
    assert orders.read().placed(ROUTE.key, "default") == placed()
    assert topic.followed == 2
