"""Checks of orders against the known streams, carriers and carried partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from balancer.plan import TopicPartition
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import CARRIERS_MAX, DEFAULT_STREAM, Pin, Stream


class UnknownStream(Exception):
    """The route has no stream of that name. The text lists its streams."""


class NotCarried(Exception):
    """No partition of the named topic is carried. The text lists similar names."""


class OrderRefused(Exception):
    """The order could not be followed. Nothing was changed; the text says why."""


def known_stream(book: OrderLog, route: str, name: str, now_ms: int) -> Stream | None:
    """Returns the named stream, or None for the default stream. Raises UnknownStream.

    Args:
        route: key of the route (west.east), as everywhere in this module.
    """
    streams = book.streams(route, now_ms)
    if name == DEFAULT_STREAM:
        return None
    for stream in streams:
        if stream.name == name:
            return stream
    known = ", ".join([DEFAULT_STREAM, *(each.name for each in streams)])
    where = route.replace(".", ">", 1)
    raise UnknownStream(f"no stream {name!r} on route {where}; known: {known}")


def carried_on(in_force: ActivePlan, route: str) -> set[TopicPartition]:
    """Returns the partitions of a route that the driver carries, and the paused ones."""
    paused = dict(in_force.paused).get(route, ())
    loads = in_force.plan.loads.items()
    carried = {each for carrier, load in loads if carrier.route == route for each in load}
    return carried | {TopicPartition(*each) for each in paused}


def carriers_of(
    book: OrderLog, in_force: ActivePlan | None, route: str, stream: str, now_ms: int
) -> tuple[int, ...]:
    """Returns the carrier numbers of a stream; empty when they are not known.

    Raises UnknownStream, also for a stream that has expired.
    """
    own = _numbers(book, route, stream, now_ms)
    placed = book.placed(route, stream)
    if placed:
        return placed.carriers
    if in_force is None:
        return ()
    return tuple(it.number for it in in_force.plan.carriers(route) if it.number in own)


def check_pin(book: OrderLog, in_force: ActivePlan | None, pin: Pin, now_ms: int) -> list[str]:
    """Checks a pin and returns remarks for the operator. Raises OrderRefused.

    Args:
        in_force: active plan. None when not known; the check whether the partition is carried is
            then skipped.
    """
    place = TopicPartition(pin.topic, pin.partition)
    where = pin.route.replace(".", ">", 1)
    if in_force is not None:
        carried = carried_on(in_force, pin.route)
        if place not in carried:
            numbers = [each.partition for each in carried if each.topic == pin.topic]
            there = f"partitions {min(numbers)} to {max(numbers)}" if numbers else "nothing"
            raise OrderRefused(
                f"the driver does not carry {pin.topic}-{pin.partition} on {where}: of topic "
                f"{pin.topic} it has {there}"
            )
    stream = book.streams_of(pin.route, [pin.topic], now_ms)[pin.topic]
    own = _numbers(book, pin.route, stream, now_ms)
    if pin.carrier not in own:
        raise OrderRefused(
            f"topic {pin.topic} is in stream {stream}, whose carriers are numbered from "
            f"{own.start}: there is none of them with number {pin.carrier}"
        )
    remarks = []
    if in_force is None:
        remarks.append("so it is not known whether that partition is carried at all")
    if pin.carrier in (excluded := book.excluded(pin.route, now_ms)):
        remarks.append(
            f"carrier {pin.carrier} is excluded ({excluded[pin.carrier]}): the pin is not obeyed "
            "until it is included"
        )
    present = carriers_of(book, in_force, pin.route, stream, now_ms)
    if present and pin.carrier not in present:
        remarks.append(
            f"there is no carrier {pin.carrier} on {where} now: the pin is not obeyed until there "
            "is one"
        )
    return remarks


def remarks_on_exclusion(
    book: OrderLog, in_force: ActivePlan | None, route: str, carrier: int, now_ms: int
) -> Iterator[str]:
    """Yields remarks for the operator about excluding one more carrier."""
    first = carrier // CARRIERS_MAX * CARRIERS_MAX
    firsts = {DEFAULT_STREAM: 0} | {
        each.name: each.first_carrier for each in book.streams(route, now_ms)
    }
    stream = next((name for name, number in firsts.items() if number == first), None)
    where = route.replace(".", ">", 1)
    present = set(carriers_of(book, in_force, route, stream, now_ms)) if stream else set()
    if stream is None:
        yield f"no stream of {where} has carriers of such a number"
    elif not present:
        yield f"which carriers {where} has is not known"
    elif carrier not in present:
        yield f"there is no carrier {carrier} on {where} now"
    elif not present - {carrier} - set(book.excluded(route, now_ms)):
        yield (
            f"carrier {carrier} is the only one of stream {stream} on {where}: all of it moves to "
            "a new one, or stays where no balancer acts"
        )


def stranded_pins(book: OrderLog, route: str, now_ms: int) -> Iterator[str]:
    """Yields a line for each pin to a carrier number outside the range of its topic's stream.

    Such a pin is not obeyed.
    """
    stream_of = book.streams_of(route, (topic for topic, _ in book.pins(route, now_ms)), now_ms)
    for (topic, number), carrier in sorted(book.pins(route, now_ms).items()):
        stream = stream_of[topic]
        own = _numbers(book, route, stream, now_ms)
        if carrier not in own:
            yield (
                f"{topic}-{number} is pinned to carrier {carrier}, and in stream {stream}, whose "
                f"carriers are numbered from {own.start}: that pin is not obeyed"
            )


def topics_without(topics: Iterable[str], in_force: ActivePlan | None, route: str) -> list[str]:
    """Returns the topics without any carried or paused partition, sorted.

    The result is empty when the active plan is not known.
    """
    if in_force is None:
        return []
    there = {each.topic for each in carried_on(in_force, route)}
    return sorted(set(topics) - there)


def _numbers(book: OrderLog, route: str, stream: str, now_ms: int) -> range:
    found = known_stream(book, route, stream, now_ms)
    first = found.first_carrier if found else 0
    return range(first, first + CARRIERS_MAX)
