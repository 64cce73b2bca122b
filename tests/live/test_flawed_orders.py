"""Invalid records in sluice.balance: drivers skip them and continue."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from balancer.carrier_plan import Plan
from deploy.lab.kafka import KafkaCluster
from replicator.config.names import BALANCE_TOPIC
from replicator.mirror.driver.planner import Planner
from replicator.orders.order_follower import OrderFollower
from replicator.orders.order_log import OrderLog
from replicator.orders.order_reader import FlawedRecord
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
from tui.commands.exit_codes import ExitCode

# ruff: noqa: F811


@pytest.fixture
def next_order_log(balanced: Balanced) -> Iterator[Callable[[], OrderLog]]:
    """`next_order_log()`: returns the next order log that a driver of the region receives."""
    balanced.log.make_topic()
    order_logs: queue.Queue[OrderLog] = queue.Queue()
    follower = OrderFollower("aggregate", balanced.cluster, order_logs.put)
    follower.start()
    yield lambda: order_logs.get(timeout=PATIENCE_SECONDS)
    follower.stop()


def planned(order_log: OrderLog, balanced: Balanced) -> Plan:
    """Returns a plan as the driver makes it."""
    wanted = {balanced.key: (*ORDERS, *PAYMENTS)}
    return Planner(2).plan(wanted, 2, Plan(0), order_log, 0).plan


def write(aggregate: KafkaCluster, *records: tuple[bytes, bytes]) -> None:
    """Writes raw records, as any client with write access to the topic can."""
    producer = Producer(aggregate.librdkafka_options())
    for key, value in records:
        producer.produce(BALANCE_TOPIC, key=key, value=value)
    assert producer.flush(30) == 0


def test_a_stream_whose_patterns_do_not_compile_joined_is_planned(balanced, ask, values):
    create = ("stream", "create", "money", "--route", balanced.route, *REASON)
    values(*create, "--topics", r"\Qpayments", "--topics", "pay.*")
    plan = planned(balanced.order_log(), balanced)
    assert plan.partitions == 4
    assert [each for load in plan.loads.values() for each in load if each in PAYMENTS]
    code, _, err = ask(*create[:2], "more", *create[3:], "--topics", "(")
    assert code == ExitCode.USAGE and "not an RE2 pattern" in err


@pytest.mark.core
def test_flawed_records_are_named_once_and_left_out_and_all_others_are_followed(
    balanced, aggregate, next_order_log, caplog
):
    stream = Stream(**balanced.said(), name="bad", topics=("a(",), first_carrier=1000)
    nowhere = Placed(**balanced.said(), stream="default", generation=1, carriers=(), topics={})
    pin = Pin(**balanced.said(), topic="orders", partition=0, carrier=1)
    caplog.set_level(logging.WARNING, "replicator")
    next_order_log()
    flawed = [(key_of(each), encode(each)) for each in (stream, nowhere)]
    flawed.append((key_of(stream), encode(pin)))
    write(aggregate, *flawed, *flawed, (key_of(pin), encode(pin)))
    order_log = next_order_log()
    while not order_log.pins(balanced.key, 0):
        order_log = next_order_log()
    assert order_log.streams(balanced.key, 0) == []
    assert planned(order_log, balanced).partitions == 4
    logged = [each.getMessage() for each in caplog.records if "order-flawed" in each.getMessage()]
    assert len(logged) == 3, logged
    assert f'["stream","{balanced.key}","bad"]' in logged[0]
    assert "topics: 'a(': not an RE2 pattern" in logged[0]
    assert "carriers: there is none" in logged[1]
    assert "its key belongs to another record" in logged[2]


def test_an_order_that_could_not_be_followed_is_refused_before_it_is_written(balanced):
    balanced.log.make_topic()
    stream = Stream(**balanced.said(), name="bad", topics=("a(",), first_carrier=1000)
    with pytest.raises(FlawedRecord, match="not an RE2 pattern"):
        balanced.log.write([stream])
    assert balanced.order_log().streams(balanced.key, 0) == []
