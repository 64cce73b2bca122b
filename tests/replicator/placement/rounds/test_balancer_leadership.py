"""Leadership of balancers that share a log in memory, with a producer that fences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.orders.balance_log import BalanceLog, Superseded
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import AnyRecord, Lease, Placed, key_of
from replicator.placement.rounds.balancer_leadership import BalancerLeadership, PlacementOverruled

SETTINGS = KafkaCluster(bootstrap=["127.0.0.1:1"])


class Topic:
    """Topic with the records that were committed, and the number of its newest producer."""

    def __init__(self) -> None:
        self.order_log = OrderLog()
        self.newest = 0
        self.is_answering = True
        self.before_open: Callable[[], None] = lambda: None
        self.reads_left = 1000

    def commit(self, *records: AnyRecord) -> None:
        self.order_log = self.order_log.after((key_of(it), it) for it in records)

    def other_comes(self) -> None:
        """Another balancer fences the producer, says so, and places."""
        self.newest += 1
        self.commit(Lease(route="east", at_ms=1, who="two", since_ms=1), placed(2))

    @property
    def generation(self) -> int:
        placed = self.order_log.placed("west.east", "default")
        return placed.generation if placed else 0


class OwnLog(BalanceLog):
    def __init__(self, topic: Topic) -> None:
        super().__init__("east aggregate", SETTINGS)
        self._own = topic

    def make_topic(self) -> None:
        """Does nothing: the topic is there."""

    def read(self) -> OrderLog:
        self._own.reads_left -= 1
        if self._own.reads_left < 0:
            raise LogUnreadable("east aggregate")
        return self._own.order_log


class OwnPublisher:
    """Publisher whose answers may be lost after it has written."""

    def __init__(self, topic: Topic) -> None:
        self._topic, self._number = topic, 0

    def open(self) -> None:
        act, self._topic.before_open = self._topic.before_open, lambda: None
        act()
        self._topic.newest += 1
        self._number = self._topic.newest

    def publish(self, records: tuple[AnyRecord, ...], _: tuple[bytes, ...]) -> None:
        if self._number != self._topic.newest:
            raise Superseded("fenced")
        self._topic.commit(*records)
        if not self._topic.is_answering:
            raise AdminError("east aggregate", "no answer")


def leadership(topic: Topic, who: str) -> BalancerLeadership:
    make_publisher: Any = lambda *_: OwnPublisher(topic)  # noqa: E731
    return BalancerLeadership(
        "east aggregate",
        SETTINGS,
        "east",
        who,
        balance_log=OwnLog(topic),
        make_publisher=make_publisher,
    )


def placed(generation: int) -> Placed:
    return Placed(
        route="west.east",
        at_ms=0,
        who="one",
        stream="default",
        generation=generation,
        carriers=(0,),
        topics={},
    )


async def unanswered(one: BalancerLeadership, topic: Topic, record: AnyRecord) -> None:
    """Writes a record whose answer is lost: the producer has to be opened again."""
    topic.is_answering = False
    with pytest.raises(AdminError, match="no answer"):
        await one.write([record])
    topic.is_answering = True


async def test_a_placement_is_written_upon_the_last_one_only():
    topic = Topic()
    one = leadership(topic, "one")
    await one.acquire()
    await one.write([placed(1)])
    await unanswered(one, topic, placed(2))
    with pytest.raises(PlacementOverruled, match="generation 2 holds"):
        await one.write([placed(2)])
    await one.write([placed(3)])
    assert topic.generation == 3


async def test_a_placement_is_compared_also_after_a_lease_was_renewed():
    topic = Topic()
    one = leadership(topic, "one")
    await one.acquire()
    await unanswered(one, topic, placed(1))
    await one.write([Lease(route="east", at_ms=1, who="one", since_ms=1)])
    with pytest.raises(PlacementOverruled, match="generation 1 holds"):
        await one.write([placed(1)])
    assert topic.generation == 1


async def test_a_balancer_that_cannot_read_the_log_after_opening_looks_again_before_it_writes():
    topic = Topic()
    one = leadership(topic, "one")
    await one.acquire()
    await unanswered(one, topic, placed(1))
    topic.before_open, topic.reads_left = topic.other_comes, 1
    with pytest.raises(LogUnreadable):
        await one.write([placed(2)])
    topic.reads_left = 1000
    with pytest.raises(Superseded, match="two is active"):
        await one.write([placed(2)])


async def test_a_balancer_that_opens_its_producer_after_another_one_has_come_writes_nothing():
    topic = Topic()
    one = leadership(topic, "one")
    await one.acquire()
    await unanswered(one, topic, placed(1))
    topic.before_open = topic.other_comes
    with pytest.raises(Superseded, match="two is active"):
        await one.write([placed(2)])
    assert topic.order_log.lease("east").who == "two"


async def test_a_fenced_balancer_ends_once_it_reads_the_lease_of_the_newer_one():
    topic = Topic()
    one, two = leadership(topic, "one"), leadership(topic, "two")
    await one.acquire()
    await two.acquire()
    with pytest.raises(Superseded, match="two is active"):
        await one.write([placed(1)])
    assert topic.generation == 0
