"""Mandatory moves: every partition gets a carrier, and no partition moves that can stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from balancer.decision.by_count import place_by_count
from balancer.decision.level import heaviest_of_any, place
from balancer.decision.placement import (
    Placement,
    Reason,
    RouteView,
    Scope,
    Where,
    loads,
    moves_between,
)
from balancer.decision.settings import Limits
from balancer.topic_partition import TopicPartition

_ANY = 1e6
"""Slack with which no load is too much."""


def mandatory_moves(route: RouteView, limits: Limits, *, relieves: bool = True) -> Placement:
    """Returns a placement in which placed partitions stay, hot or not, if their carrier has room.

    The lightest partitions leave a carrier that has too many, as far as other carriers have room.
    They go to a carrier with a hot partition only when no other has room.

    Args:
        route: the route.
        limits: limits of the route.
        relieves: True when partitions may leave a carrier that has too many.
    """
    carriers = set(route.carriers)
    placed = {
        each: route.before[each]
        for each in route.shares
        if each not in route.pins and route.before.get(each, -1) in carriers
    }
    leaving = _leaving(placed, route, limits) if relieves else frozenset()
    stays = {each: carrier for each, carrier in placed.items() if each not in leaving}
    pinned = replace(route, pins=stays | dict(route.pins))
    found = place(pinned, replace(limits, slack=_ANY), Scope.STICKY)
    moves = (
        replace(move, reason=Reason.TOO_MANY) if move.partition in leaving else move
        for move in found.moves
    )
    # `place` took the partitions that stay for pinned ones; the bound is that of any placement.
    bound = heaviest_of_any(route, limits)
    return place_overflow(replace(found, moves=tuple(moves), bound=bound), route, limits)


def _leaving(placed: Where, route: RouteView, limits: Limits) -> set[TopicPartition]:
    """Returns the lightest partitions of carriers with too many; pinned ones count, but stay."""
    pinned = Counter(carrier for each, carrier in route.pins.items() if each in route.shares)
    held = Counter(placed.values())
    above = {at: pinned[at] + count - limits.partitions_max for at, count in held.items()}
    leaving = set()
    if any(count > 0 for count in above.values()):
        for each in sorted(placed, key=lambda each: (route.shares[each], each)):
            if above[placed[each]] > 0:
                above[placed[each]] -= 1
                leaving.add(each)
    return leaving


def mandatory_moves_by_count(route: RouteView) -> Placement:
    """Returns such a placement when loads are unknown.

    A partition without a carrier goes to the carrier with the fewest partitions.
    """
    where = place_by_count(route.shares, route.carriers, {**route.before, **route.pins})

    def reason(partition: TopicPartition) -> Reason:
        if partition in route.pins:
            return Reason.PINNED
        return Reason.NEW if route.before.get(partition) is None else Reason.CARRIER_GONE

    moves = moves_between(route.before, where, reason)
    by_carrier = loads(where, route.shares, route.carriers)
    return Placement(where, moves, by_carrier, {}, (), 0.0, 0)


def place_overflow(placement: Placement, route: RouteView, limits: Limits) -> Placement:
    """Returns the placement with a carrier also for its unplaced partitions; they stay listed.

    An unplaced partition goes back to its carrier, unless that carrier is full while another one
    has room, even one with a hot partition. All others go to the carrier with the fewest
    partitions.
    """
    if not placement.unplaced:
        return placement
    stays = _going_back(placement, route, limits)
    where = place_by_count(route.shares, route.carriers, {**stays, **placement.where})
    overflow = {each: where[each] for each in placement.unplaced}
    moves = moves_between(route.before, overflow, _overflow_reason(placement, route, limits))
    return replace(
        placement,
        where=where,
        moves=tuple(sorted(placement.moves + moves, key=lambda move: move.partition)),
        loads=loads(where, route.shares, route.carriers),
    )


def _going_back(
    placement: Placement, route: RouteView, limits: Limits
) -> dict[TopicPartition, int]:
    """Returns the unplaced partitions that go back, with their carriers; the heaviest go first."""
    counts = Counter(placement.where.values())
    room = {at: max(0, limits.partitions_max - counts[at]) for at in set(route.carriers)}
    heaviest_first = sorted(placement.unplaced, key=lambda each: (-route.shares[each], each))
    had_one = [each for each in heaviest_first if route.before.get(each) in room]
    stays = {}
    for each in had_one:
        if room[route.before[each]]:
            room[route.before[each]] -= 1
            stays[each] = route.before[each]
    leave = [each for each in had_one if each not in stays]
    elsewhere = sum(room.values()) - (len(placement.unplaced) - len(had_one))
    for each in leave[: max(0, len(leave) - max(0, elsewhere))]:
        stays[each] = route.before[each]
    return stays


def _overflow_reason(
    placement: Placement, route: RouteView, limits: Limits
) -> Callable[[TopicPartition], Reason]:
    """Returns a function that gives the reason why an unplaced partition changes its carrier."""
    carriers = set(route.carriers)
    with_pins = {**route.before, **route.pins}
    held = Counter(carrier for each, carrier in with_pins.items() if each in route.shares)
    is_full_plan = placement.certificate is None

    def reason(partition: TopicPartition) -> Reason:
        before = route.before.get(partition)
        if before is None:
            return Reason.NEW
        if before not in carriers:
            return Reason.CARRIER_GONE
        if held[before] > limits.partitions_max:
            return Reason.TOO_MANY
        return Reason.FULL_PLAN if is_full_plan else Reason.MAKES_ROOM

    return reason
