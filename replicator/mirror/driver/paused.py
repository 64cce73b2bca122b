"""Partitions that operators have paused, as conditions."""

from __future__ import annotations

from collections.abc import Iterable

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.notices.condition import Subject
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import Order, Pause


def paused_subjects(
    route: Route, partitions: Iterable[TopicPartition], order_log: OrderLog, now_ms: int
) -> dict[Subject, str]:
    """Returns what is paused on a route, and by whom: topics where all of one is, or partitions.

    Args:
        partitions: that could be carried, and that an order pauses.
        now_ms: Unix time in milliseconds.
    """
    paused = list(partitions)
    pauses = {each.subject: each for each in order_log.of(Pause, route.key, now_ms)}
    stream_of = order_log.streams_of(route.key, (each.topic for each in paused), now_ms)
    found: dict[Subject, str] = {}
    for partition in paused:
        topic = partition.topic
        whole = Subject(route.name, topic=topic)
        order: Order | None = pauses.get((topic,))
        if order is None and (alone := pauses.get(tuple(partition))) is not None:
            found[Subject(route.name, topic=topic, partition=partition.partition)] = _text(alone)
            continue
        order = order or order_log.stream(route.key, stream_of[topic], now_ms)
        if order is not None:
            found[whole] = _text(order)
    return found


def _text(order: Order) -> str:
    return f"paused by {order.who}" + (f": {order.why}" if order.why else "")
