"""Streams of a route, as an operator creates, changes, pauses and deletes them, with the rules for
their names, topics and limits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pydantic import ValidationError

from replicator.config.balance_settings import BalanceSettings, RouteBalance
from replicator.config.mistakes import found, worded
from replicator.config.topology import Route
from replicator.orders.flaws import name_flaw, pattern_flaw
from replicator.orders.order_log import OrderLog, first_carrier
from replicator.orders.order_records import (
    Answer,
    AnyRecord,
    ByHand,
    Hold,
    Placed,
    Stream,
    key_of,
)
from tui.facts.streams import carried_partitions, find_stream, limits_of
from tui.orders.order_checks import void_pins
from tui.orders.region_orders import OrderChange, RegionOrders, Terms

Limits = Mapping[str, float | int | None]


class BadTerms(ValueError):
    """Invalid name, topics or limits of a stream; the text says what is wrong."""


class StreamExists(Exception):
    """The route has a stream of that name already: change it, or take another name."""


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
    named = _named(orders, route, name)
    stream = changed(named, topics, limits, unset, why=why, who=orders.who, at_ms=orders.now_ms)
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
    named = _named(orders, route, name)
    if named.is_paused is is_paused:
        return orders.publish()
    stream = changed(named, (), {}, (), why=why, who=orders.who, at_ms=orders.now_ms)
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
    named = find_stream(orders.order_log, route.key, name, orders.now_ms)
    if named is None:
        raise BadTerms('stream "default" is what belongs to no other: it stays as it is')
    return named


def check_name(name: str) -> None:
    """Raises BadTerms when the name is not allowed."""
    if flaw := name_flaw(name):
        raise BadTerms(flaw)


def check_topics(patterns: Sequence[str]) -> None:
    """Raises BadTerms when a pattern is invalid or given twice."""
    for pattern in patterns:
        if flaw := pattern_flaw(pattern):
            raise BadTerms(f"--topics {pattern!r}: {flaw}")
    if len(set(patterns)) < len(patterns):
        raise BadTerms("--topics: a pattern is given twice")


def check_limits(limits: Limits) -> None:
    """Checks each limit by itself; None means not given. Raises BadTerms."""
    try:
        RouteBalance.model_validate({name: it for name, it in limits.items() if it is not None})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadTerms(f"{option(str(first['loc'][0]))}: {worded(first)}{found(first)}") from None


def check_carrier_bounds(limits: Limits, settings: BalanceSettings, route_name: str) -> None:
    """Checks that carriers_max is not below carriers_min. Raises BadTerms.

    A limit that is not given has the value of the route, or else of [balance].
    """
    of_route = settings.routes.get(route_name, RouteBalance())
    least, most = (
        next(
            number
            for number in (limits.get(name), getattr(of_route, name), getattr(settings, name))
            if number is not None
        )
        for name in ("carriers_min", "carriers_max")
    )
    if 0 < most < least:
        raise BadTerms(f"--carriers-max ({most}) must be --carriers-min ({least}) or more, or 0")


def option(limit: str) -> str:
    """Returns the command-line option of a limit."""
    return f"--{limit.replace('_', '-')}"


def records_about(order_log: OrderLog, route: str, name: str) -> list[AnyRecord]:
    """Returns the records about a stream other than its definition.

    They are its placement, its manual order, the balancer's answer and its hold.

    Args:
        route: key of the route (west.east).
    """
    kinds = (Placed, ByHand, Answer, Hold)
    return [
        record
        for _, record in sorted(order_log.records.items())
        if isinstance(record, kinds) and (record.route, record.stream) == (route, name)
    ]


def changed(
    stream: Stream,
    topics: Sequence[str],
    limits: Limits,
    unset: Iterable[str],
    *,
    why: str | None,
    who: str,
    at_ms: int,
) -> Stream:
    """Returns the stream with the given values set and the limits in `unset` removed."""
    update: dict[str, object] = {name: it for name, it in limits.items() if it is not None}
    update |= dict.fromkeys(unset)
    if topics:
        update["topics"] = tuple(topics)
    if why is not None:
        update["why"] = why
    return stream.model_copy(update={**update, "who": who, "at_ms": at_ms})
