"""Invalid records in sluice.balance: drivers skip them and continue."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from balancer.plan import Plan
from deploy.lab.kafka import KafkaCluster
from replicator.config.names import BALANCE_TOPIC
from replicator.mirror.driver.planner import Planner
from replicator.orders.balance_log import FlawedRecord
from replicator.orders.order_follower import OrderFollower
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import Pin, Placed, Stream, encode, key_of
from tests.live.played_balance import (  # noqa: F401
    ORDERS,
    PATIENCE_SECONDS,
    PAYMENTS,
    REASON,
    Balanced,
    ask,
    balanced,
    values,
)
from tui.cli.exit_codes import ExitCode

# ruff: noqa: F811


@pytest.fixture
def heard(balanced: Balanced) -> Iterator[Callable[[], OrderLog]]:
    """`heard()`: returns the next order log that a driver of the region receives."""
    balanced.log.make_topic()
    books: queue.Queue[OrderLog] = queue.Queue()
    following = OrderFollower("aggregate", balanced._cluster, books.put)
    following.start()
    yield lambda: books.get(timeout=PATIENCE_SECONDS)
    following.stop()


def planned(book: OrderLog, balanced: Balanced) -> Plan:
    """Returns a plan as the driver makes it."""
    wanted = {balanced.key: (*ORDERS, *PAYMENTS)}
    return Planner(2).plan(wanted, 2, Plan(0), book, 0).plan


def write(aggregate: KafkaCluster, *records: tuple[bytes, bytes]) -> None:
    """Writes raw records, as any client with write access to the topic can."""
    producer = Producer(aggregate.librdkafka_options())
    for key, value in records:
        producer.produce(BALANCE_TOPIC, key=key, value=value)
    assert producer.flush(30) == 0


def test_a_stream_whose_patterns_do_not_compile_joined_is_planned(balanced, ask, values):
    create = ("stream", "create", "money", "--route", balanced.route, *REASON)
    values(*create, "--topics", r"\Qpayments", "--topics", "pay.*")
    plan = planned(balanced.book(), balanced)
    assert plan.partitions == 4
    assert [each for load in plan.loads.values() for each in load if each in PAYMENTS]
    code, _, err = ask(*create[:2], "more", *create[3:], "--topics", "(")
    assert code == ExitCode.USAGE and "not an RE2 pattern" in err


def test_flawed_records_are_named_once_and_left_out_and_all_others_are_followed(
    balanced, aggregate, heard, caplog
):
    stream = Stream(**balanced.said(), name="bad", topics=("a(",), first_carrier=1000)
    nowhere = Placed(**balanced.said(), stream="default", generation=1, carriers=(), topics={})
    pin = Pin(**balanced.said(), topic="orders", partition=0, carrier=1)
    caplog.set_level(logging.WARNING, "replicator")
    heard()
    flawed = [(key_of(each), encode(each)) for each in (stream, nowhere)]
    flawed.append((key_of(stream), encode(pin)))
    write(aggregate, *flawed, *flawed, (key_of(pin), encode(pin)))
    book = heard()
    while not book.pins(balanced.key, 0):
        book = heard()
    assert book.streams(balanced.key, 0) == []
    assert planned(book, balanced).partitions == 4
    said = [each.getMessage() for each in caplog.records if "order-flawed" in each.getMessage()]
    assert len(said) == 3, said
    assert f'["stream","{balanced.key}","bad"]' in said[0]
    assert "topics: 'a(': not an RE2 pattern" in said[0]
    assert "carriers: there is none" in said[1]
    assert "its key belongs to another record" in said[2]


def test_an_order_that_could_not_be_followed_is_refused_before_it_is_written(balanced):
    balanced.log.make_topic()
    stream = Stream(**balanced.said(), name="bad", topics=("a(",), first_carrier=1000)
    with pytest.raises(FlawedRecord, match="not an RE2 pattern"):
        balanced.log.write([stream])
    assert balanced.book().streams(balanced.key, 0) == []
