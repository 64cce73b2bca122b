"""Streams of a route, with the carriers and partitions that they have now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from balancer.plan import TopicPartition
from replicator.config.balance_settings import RouteBalance
from replicator.config.topology import Route
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import CARRIERS_MAX, DEFAULT_STREAM, Stream

LIMITS = tuple(RouteBalance.model_fields)
"""Names of the limits, as in [balance.routes] and in a stream."""


class UnknownStream(Exception):
    """The route has no stream of that name. The text lists its streams."""


@dataclass(frozen=True, slots=True)
class StreamSummary:
    """Summary of one stream.

    Args:
        stream: None for the route's default stream.
        partitions: number of partitions of each topic that belongs to the stream now; None when
            not known.
        carriers: numbers of its carriers; empty when it has none, or they are not known.
    """

    route: Route
    stream: Stream | None
    partitions: Mapping[str, int] | None
    carriers: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return self.stream.name if self.stream else DEFAULT_STREAM


def stream_summaries(
    routes: Sequence[Route], order_log: OrderLog, active_plan: ActivePlan | None, now_ms: int
) -> Iterator[StreamSummary]:
    """Yields a summary of each stream, in the order of routes.

    Each route's default stream comes last: it has the topics that match no other stream.
    """
    for route in routes:
        carried = None if active_plan is None else carried_partitions(active_plan, route.key)
        topics = _topics_by_stream(order_log, route, carried or set(), now_ms)
        for stream in (*order_log.streams(route.key, now_ms), None):
            name = stream.name if stream else DEFAULT_STREAM
            yield StreamSummary(
                route,
                stream,
                None if carried is None else topics.get(name, {}),
                carriers_of(order_log, active_plan, route.key, name, now_ms),
            )


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


def _topics_by_stream(
    order_log: OrderLog, route: Route, carried: set[TopicPartition], now_ms: int
) -> dict[str, dict[str, int]]:
    stream_of = order_log.streams_of(route.key, (each.topic for each in carried), now_ms)
    found: dict[str, dict[str, int]] = {}
    for each in sorted(carried):
        topics = found.setdefault(stream_of[each.topic], {})
        topics[each.topic] = topics.get(each.topic, 0) + 1
    return found
