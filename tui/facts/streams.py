"""Streams of a route: their limits, and the carriers and topics that they have now."""

from __future__ import annotations

from collections.abc import Iterable

from balancer.decision.settings import CARRIERS_MAX
from balancer.topic_partition import TopicPartition
from replicator.config.balance_settings import RouteBalance
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import DEFAULT_STREAM, Stream

LIMITS = tuple(RouteBalance.model_fields)
"""Names of the limits, as in [balance.routes] and in a stream."""


class UnknownStream(Exception):
    """The route has no stream of that name. The text lists its streams."""


def find_stream(order_log: OrderLog, route: str, name: str, now_ms: int) -> Stream | None:
    """Returns the named stream, or None for the default stream. Raises UnknownStream.

    Args:
        route: key of the route (west.east), as in the functions below.
    """
    streams = order_log.streams(route, now_ms)
    if name == DEFAULT_STREAM:
        return None
    for stream in streams:
        if stream.name == name:
            return stream
    known = ", ".join([DEFAULT_STREAM, *(each.name for each in streams)])
    raise UnknownStream(f"no stream {name!r} on route {route_name(route)}; known: {known}")


def carrier_numbers(order_log: OrderLog, route: str, stream: str, now_ms: int) -> range:
    """Returns the numbers that carriers of a stream may have. Raises UnknownStream."""
    found = find_stream(order_log, route, stream, now_ms)
    first = found.first_carrier if found else 0
    return range(first, first + CARRIERS_MAX)


def carriers_of(
    order_log: OrderLog, active_plan: ActivePlan | None, route: str, stream: str, now_ms: int
) -> tuple[int, ...]:
    """Returns the carrier numbers of a stream; empty when they are not known.

    Raises UnknownStream, also for a stream that has expired.
    """
    own = carrier_numbers(order_log, route, stream, now_ms)
    placed = order_log.placed(route, stream)
    if placed:
        return placed.carriers
    if active_plan is None:
        return ()
    return tuple(it.number for it in active_plan.plan.carriers(route) if it.number in own)


def carried_partitions(active_plan: ActivePlan, route: str) -> set[TopicPartition]:
    """Returns the partitions of a route that the driver carries, and the paused ones."""
    paused = dict(active_plan.paused).get(route, ())
    loads = active_plan.plan.loads.items()
    carried = {each for carrier, load in loads if carrier.route == route for each in load}
    return carried | {TopicPartition(*each) for each in paused}


def matching_topics(
    order_log: OrderLog, active_plan: ActivePlan, route: str, now_ms: int
) -> dict[str, dict[str, int]]:
    """Returns for each stream of a route the topics that belong to it, with their partitions.

    Only partitions that the driver carries, and paused ones, are counted.
    """
    carried = carried_partitions(active_plan, route)
    stream_of = order_log.streams_of(route, (each.topic for each in carried), now_ms)
    found: dict[str, dict[str, int]] = {}
    for each in sorted(carried):
        topics = found.setdefault(stream_of[each.topic], {})
        topics[each.topic] = topics.get(each.topic, 0) + 1
    return found


def topics_not_carried(
    topics: Iterable[str], active_plan: ActivePlan | None, route: str
) -> list[str]:
    """Returns the topics without any carried or paused partition, sorted.

    The result is empty when the active plan is not known.
    """
    if active_plan is None:
        return []
    carried = {each.topic for each in carried_partitions(active_plan, route)}
    return sorted(set(topics) - carried)


def limits_of(stream: Stream) -> dict[str, float | int]:
    """Returns the limits that the stream sets itself."""
    found = {name: getattr(stream, name) for name in LIMITS}
    return {name: it for name, it in found.items() if it is not None}


def route_name(key: str) -> str:
    """Converts a route key (west.east) to a name (west>east); region names have no dots."""
    return key.replace(".", ">", 1)
