"""Checks of orders against the known streams, carriers and carried partitions."""

from __future__ import annotations

from collections.abc import Iterator

from balancer.decision.settings import CARRIERS_MAX
from balancer.topic_partition import TopicPartition
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import DEFAULT_STREAM, Pin
from tui.facts.streams import carried_partitions, carrier_numbers, carriers_of, route_name


class OrderRefused(Exception):
    """The order could not be followed. Nothing was changed; the text says why."""


def check_pin(
    order_log: OrderLog, active_plan: ActivePlan | None, pin: Pin, now_ms: int
) -> list[str]:
    """Checks a pin and returns remarks for the operator. Raises OrderRefused.

    Args:
        active_plan: active plan. None when not known; the check whether the partition is carried is
            then skipped.
    """
    where = route_name(pin.route)
    if active_plan is not None:
        carried = carried_partitions(active_plan, pin.route)
        if TopicPartition(pin.topic, pin.partition) not in carried:
            numbers = [each.partition for each in carried if each.topic == pin.topic]
            has = f"partitions {min(numbers)} to {max(numbers)}" if numbers else "nothing"
            raise OrderRefused(
                f"the driver does not carry {pin.topic}-{pin.partition} on {where}: of topic "
                f"{pin.topic} it has {has}"
            )
    stream = order_log.streams_of(pin.route, [pin.topic], now_ms)[pin.topic]
    own = carrier_numbers(order_log, pin.route, stream, now_ms)
    if pin.carrier not in own:
        raise OrderRefused(
            f"topic {pin.topic} is in stream {stream}, whose carriers are numbered from "
            f"{own.start}: it has no carrier {pin.carrier}"
        )
    remarks = []
    if active_plan is None:
        remarks.append(
            "the active plan is not known, so nobody checked whether that partition is carried"
        )
    if pin.carrier in (excluded := order_log.excluded(pin.route, now_ms)):
        remarks.append(
            f"carrier {pin.carrier} is excluded ({excluded[pin.carrier]}): the pin is not obeyed "
            "until it is included"
        )
    current = carriers_of(order_log, active_plan, pin.route, stream, now_ms)
    if current and pin.carrier not in current:
        remarks.append(
            f"there is no carrier {pin.carrier} on {where} now: the pin is not obeyed until there "
            "is one"
        )
    return remarks


def exclusion_remarks(
    order_log: OrderLog, active_plan: ActivePlan | None, route: str, carrier: int, now_ms: int
) -> Iterator[str]:
    """Yields remarks for the operator about the exclusion of one more carrier.

    Args:
        route: key of the route (west.east).
    """
    first = carrier // CARRIERS_MAX * CARRIERS_MAX
    firsts = {DEFAULT_STREAM: 0} | {
        each.name: each.first_carrier for each in order_log.streams(route, now_ms)
    }
    stream = next((name for name, number in firsts.items() if number == first), None)
    where = route_name(route)
    current = set(carriers_of(order_log, active_plan, route, stream, now_ms)) if stream else set()
    if stream is None:
        yield f"no stream of {where} has carriers of such a number"
    elif not current:
        yield f"which carriers {where} has is not known"
    elif carrier not in current:
        yield f"there is no carrier {carrier} on {where} now"
    elif not current - {carrier} - set(order_log.excluded(route, now_ms)):
        yield (
            f"carrier {carrier} is the only one of stream {stream} on {where}: all of it moves to "
            "a new one, or stays where no balancer acts"
        )


def void_pins(order_log: OrderLog, route: str, now_ms: int) -> Iterator[str]:
    """Yields a line for each pin to a carrier number outside the range of its topic's stream.

    Such a pin is not obeyed.
    """
    stream_of = order_log.streams_of(
        route, (topic for topic, _ in order_log.pins(route, now_ms)), now_ms
    )
    for (topic, number), carrier in sorted(order_log.pins(route, now_ms).items()):
        stream = stream_of[topic]
        own = carrier_numbers(order_log, route, stream, now_ms)
        if carrier not in own:
            yield (
                f"{topic}-{number} is pinned to carrier {carrier}, and in stream {stream}, whose "
                f"carriers are numbered from {own.start}: that pin is not obeyed"
            )
