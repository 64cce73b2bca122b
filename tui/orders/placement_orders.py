"""Orders to balancer and driver: hold, pin, exclude, pause a topic, and their opposites."""

from __future__ import annotations

from collections.abc import Sequence

from replicator.config.topology import Route
from replicator.orders.order_records import DEFAULT_STREAM, Exclusion, Hold, Pause, Pin
from tui.facts.streams import UnknownStream, topics_not_carried
from tui.orders.order_checks import OrderRefused, check_pin, exclusion_remarks
from tui.orders.region_orders import OrderChange, RegionOrders, Terms


def hold(
    orders: RegionOrders, routes: Sequence[Route], stream: str | None, terms: Terms
) -> OrderChange:
    """Keeps partitions on their carriers: of all streams of the routes, or of the named one.

    Raises UnknownStream when no route has the named stream.
    """
    found = _streams(orders, routes, stream)
    return orders.publish(Hold(**orders.fields(route, terms), stream=name) for route, name in found)


def release(orders: RegionOrders, routes: Sequence[Route], stream: str | None) -> OrderChange:
    """Takes `hold` back. Raises UnknownStream when no route has the named stream."""
    if stream is not None:
        _streams(orders, routes, stream)
    holds = orders.active(Hold, routes)
    return orders.publish(deleted=[it for it in holds if stream in (None, it.stream)])


def pin(
    orders: RegionOrders, route: Route, topic: str, partition: int, carrier: int, terms: Terms
) -> OrderChange:
    """Assigns a partition to a carrier. Raises OrderRefused when that can never be obeyed."""
    order_log = orders.order_log
    order = Pin(**orders.fields(route, terms), topic=topic, partition=partition, carrier=carrier)
    for remark in check_pin(order_log, orders.active_plan(), order, orders.now_ms):
        orders.warn(remark)
    _warn_unless_acting(orders)
    return orders.publish([order])


def unpin(orders: RegionOrders, route: Route, topic: str, partition: int) -> OrderChange:
    """Takes `pin` back."""
    pins = orders.active(Pin, [route])
    return orders.publish(
        deleted=[it for it in pins if (it.topic, it.partition) == (topic, partition)]
    )


def exclude(orders: RegionOrders, route: Route, carrier: int, terms: Terms) -> OrderChange:
    """Removes a carrier from placements: its partitions move to others."""
    order_log = orders.order_log
    order = Exclusion(**orders.fields(route, terms), carrier=carrier)
    plan = orders.active_plan()
    for remark in exclusion_remarks(order_log, plan, route.key, carrier, orders.now_ms):
        orders.warn(remark)
    _warn_unless_acting(orders)
    return orders.publish([order])


def include(orders: RegionOrders, route: Route, carrier: int) -> OrderChange:
    """Takes `exclude` back."""
    exclusions = orders.active(Exclusion, [route])
    return orders.publish(deleted=[it for it in exclusions if it.carrier == carrier])


def pause_topic(
    orders: RegionOrders, route: Route, topic: str, partition: int | None, terms: Terms
) -> OrderChange:
    """Stops carrying a topic, or one partition of it."""
    order = Pause(**orders.fields(route, terms), topic=topic, partition=partition)
    if topics_not_carried([topic], orders.active_plan(), route.key):
        orders.warn(f"the driver carries no topic {topic} on route {route}")
    return orders.publish([order])


def resume_topic(
    orders: RegionOrders, route: Route, topic: str, partition: int | None
) -> OrderChange:
    """Takes `pause_topic` back; without a partition, all pauses of the topic.

    Raises OrderRefused for a single partition of a topic that is paused as a whole.
    """
    of_topic = [each for each in orders.active(Pause, [route]) if each.topic == topic]
    if partition is not None and any(each.partition is None for each in of_topic):
        raise OrderRefused(
            f"all of topic {topic} is paused: resume it without --partition, and pause the others "
            "one by one; nothing was changed"
        )
    return orders.publish(deleted=[it for it in of_topic if partition in (None, it.partition)])


def _streams(
    orders: RegionOrders, routes: Sequence[Route], stream: str | None
) -> list[tuple[Route, str]]:
    """Returns all streams of the routes, or the named one on the routes that have it."""
    order_log = orders.order_log
    found = [
        (route, name)
        for route in routes
        for name in (
            DEFAULT_STREAM,
            *(each.name for each in order_log.streams(route.key, orders.now_ms)),
        )
    ]
    named = [(route, name) for route, name in found if stream in (None, name)]
    if not named:
        known = ", ".join(dict.fromkeys(name for _, name in found))
        raise UnknownStream(f"no stream {stream!r}; known: {known}")
    return named


def _warn_unless_acting(orders: RegionOrders) -> None:
    orders.warn_unless_acting(f"it is followed once `sluice balance --region {orders.region}` runs")
