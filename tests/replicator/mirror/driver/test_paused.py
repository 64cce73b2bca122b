"""Paused topics and partitions are named with the operator who paused them."""

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.mirror.driver.paused import paused_subjects
from replicator.notices.condition import Subject
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import Order, Pause, Stream, key_of

ROUTE = Route("west", "east")
SAID = {"route": ROUTE.key, "at_ms": 1000, "who": "ann@ops"}
ORDERS, OTHER, TRADES = (
    TopicPartition("orders", 0),
    TopicPartition("orders", 1),
    TopicPartition("trades", 0),
)


def found(partitions: list[TopicPartition], *orders: Order) -> dict[Subject, str]:
    log = OrderLog().after((key_of(order), order) for order in orders)
    return paused_subjects(ROUTE, partitions, log, 2000)


def test_a_paused_topic_is_one_subject_however_many_partitions_it_has() -> None:
    pause = Pause(**SAID, why="load test", topic="orders")
    assert found([ORDERS, OTHER], pause) == {
        Subject("west>east", topic="orders"): "paused by ann@ops: load test"
    }


def test_a_paused_partition_is_named_alone() -> None:
    pause = Pause(**SAID, topic="orders", partition=1)
    assert found([OTHER], pause) == {
        Subject("west>east", topic="orders", partition=1): "paused by ann@ops"
    }


def test_topics_of_a_paused_stream_are_named() -> None:
    stream = Stream(
        **SAID, why="disks", name="bulk", topics=("orders", "trades"), first_carrier=1000,
        is_paused=True,
    )  # fmt: skip
    assert set(found([ORDERS, OTHER, TRADES], stream)) == {
        Subject("west>east", topic="orders"),
        Subject("west>east", topic="trades"),
    }


def test_what_no_order_pauses_any_more_is_not_named() -> None:
    over = Pause(**SAID, topic="orders", until_ms=1500)
    assert found([ORDERS], over) == {}
    assert found([]) == {}
