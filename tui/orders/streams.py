"""Streams of a route, as an operator creates, changes, pauses and deletes them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from replicator.config.balance_settings import BalanceSettings
from replicator.config.topology import Route
from replicator.orders.order_log import first_carrier
from replicator.orders.order_records import AnyRecord, Stream, key_of
from tui.facts.streams import carried_partitions, find_stream, limits_of
from tui.orders.order_checks import void_pins
from tui.orders.region_orders import OrderChange, RegionOrders, Terms
from tui.orders.stream_terms import (
    BadTerms,
    Limits,
    StreamExists,
    changed,
    check_carrier_bounds,
    check_limits,
    check_name,
    check_topics,
    records_about,
)


def create_stream(
    orders: RegionOrders,
    settings: BalanceSettings,
    route: Route,
    name: str,
    topics: Sequence[str],
    limits: Limits,
    terms: Terms,
) -> OrderChange:
    """Creates a stream, whose topics move to carriers of its own.

    Args:
        limits: None for a limit that the stream does not set.

    Raises:
        BadTerms: name, topics or limits are invalid.
        StreamExists: the name is taken.
    """
    check_name(name)
    check_topics(topics)
    check_limits(limits)
    check_carrier_bounds(limits, settings, route.name)
    order_log = orders.order_log
    streams = order_log.streams(route.key, orders.now_ms)
    if any(each.name == name for each in streams):
        raise StreamExists(f"route {route} has a stream {name!r}: see `sluice stream change`")
    stream = Stream(
        **orders.fields(route, terms),
        name=name,
        topics=tuple(topics),
        first_carrier=first_carrier(streams),
        **{limit: it for limit, it in limits.items() if it is not None},
    )
    # A deleted stream of that name leaves a record if a balancer placed it at the same time.
    return _publish(orders, stream, records_about(order_log, route.key, name))


def change_stream(
    orders: RegionOrders,
    settings: BalanceSettings,
    route: Route,
    name: str,
    topics: Sequence[str],
    limits: Limits,
    unset: Collection[str],
    why: str | None,
) -> OrderChange:
    """Changes what is given of a stream.

    Args:
        topics: all topics of the stream from now on; empty when they stay.
        limits: None for a limit that stays.
        unset: names of limits that the stream no longer sets itself.
        why: None when the recorded reason stays.

    Raises:
        BadTerms: topics or limits are invalid, or nothing to change is given.
        UnknownStream: the route has no such stream.
    """
    check_topics(topics)
    check_limits(limits)
    if not topics and not unset and why is None and set(limits.values()) == {None}:
        raise BadTerms("nothing to change is given")
    found = _named(orders, route, name)
    stream = changed(found, topics, limits, unset, why=why, who=orders.who, at_ms=orders.now_ms)
    check_carrier_bounds(limits_of(stream), settings, route.name)
    return _publish(orders, stream)


def delete_stream(orders: RegionOrders, route: Route, name: str) -> OrderChange:
    """Deletes a stream and the records about it. Raises BadTerms or UnknownStream."""
    order_log = orders.order_log
    deleted = [_named(orders, route, name), *records_about(order_log, route.key, name)]
    after = order_log.after((key_of(each), None) for each in deleted)
    for remark in void_pins(after, route.key, orders.now_ms):
        orders.warn(remark)
    return orders.publish(deleted=deleted)


def set_paused(
    orders: RegionOrders, route: Route, name: str, is_paused: bool, why: str | None
) -> OrderChange:
    """Pauses or resumes a stream; publishes nothing when the stream is so already.

    Raises BadTerms or UnknownStream.
    """
    found = _named(orders, route, name)
    if found.is_paused is is_paused:
        return orders.publish()
    stream = changed(found, (), {}, (), why=why, who=orders.who, at_ms=orders.now_ms)
    return orders.publish([stream.model_copy(update={"is_paused": is_paused})])


def _publish(
    orders: RegionOrders, stream: Stream, deleted: Iterable[AnyRecord] = ()
) -> OrderChange:
    """Publishes a stream; warns about pins that no longer hold and a stream without topics."""
    after = orders.order_log.after([(key_of(stream), stream)])
    for remark in void_pins(after, stream.route, stream.at_ms):
        orders.warn(remark)
    plan = orders.active_plan()
    if plan is not None:
        topics = (each.topic for each in carried_partitions(plan, stream.route))
        if stream.name not in after.streams_of(stream.route, topics, stream.at_ms).values():
            orders.warn(f"no topic that is carried belongs to stream {stream.name} now")
    return orders.publish([stream], deleted=deleted)


def _named(orders: RegionOrders, route: Route, name: str) -> Stream:
    found = find_stream(orders.order_log, route.key, name, orders.now_ms)
    if found is None:
        raise BadTerms('stream "default" is what belongs to no other: it stays as it is')
    return found
