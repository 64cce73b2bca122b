"""Placements with mandatory moves only, in which every partition has a carrier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from balancer.decision.by_count import by_count
from balancer.decision.housed import housed
from balancer.decision.limits import Limits
from balancer.decision.loads import loads
from balancer.decision.placement import Move, Placement, Reason
from balancer.decision.placing import RouteView, Scope, heaviest_of_any, place
from balancer.plan import TopicPartition

_ANY = 1e6
"""Slack with which no load is too much."""


def forced(view: RouteView, limits: Limits, *, relieves: bool = True) -> Placement:
    """Returns a placement in which placed partitions stay, hot or not, if their carrier has room.

    The lightest partitions leave a carrier that has too many, as far as other carriers have room.
    They go to a carrier with a hot partition only when no other has room.

    Args:
        view: the route.
        limits: limits of the route.
        relieves: True when partitions may leave a carrier that has too many.
    """
    carriers = set(view.carriers)
    placed = {
        each: view.before[each]
        for each in view.shares
        if each not in view.pins and view.before.get(each, -1) in carriers
    }
    leaving = _leaving(placed, view, limits) if relieves else frozenset()
    stays = {each: carrier for each, carrier in placed.items() if each not in leaving}
    pinned = replace(view, pins=stays | dict(view.pins))
    found = place(pinned, replace(limits, slack=_ANY), Scope.STICKY)
    moves = (
        replace(move, reason=Reason.TOO_MANY) if move.partition in leaving else move
        for move in found.moves
    )
    # `place` took the partitions that stay for pinned ones; the bound is that of any placement.
    bound = heaviest_of_any(view, limits)
    return housed(replace(found, moves=tuple(moves), bound=bound), view, limits)


def _leaving(
    placed: Mapping[TopicPartition, int], view: RouteView, limits: Limits
) -> set[TopicPartition]:
    """Returns the lightest partitions of carriers with too many; pinned ones count, but stay."""
    pinned = Counter(carrier for each, carrier in view.pins.items() if each in view.shares)
    held = Counter(placed.values())
    above = {at: pinned[at] + count - limits.partitions_max for at, count in held.items()}
    leaving = set()
    if any(count > 0 for count in above.values()):
        for each in sorted(placed, key=lambda each: (view.shares[each], each)):
            if above[placed[each]] > 0:
                above[placed[each]] -= 1
                leaving.add(each)
    return leaving


def forced_by_count(view: RouteView) -> Placement:
    """Returns such a placement when loads are unknown.

    A partition without a carrier goes to the carrier with the fewest partitions.
    """
    where = by_count(view.shares, view.carriers, {**view.before, **view.pins})
    moves = (
        Move(each, view.before.get(each), carrier, _reason(view, each))
        for each, carrier in where.items()
        if view.before.get(each) != carrier
    )
    by_carrier = loads(where, view.shares, view.carriers)
    return Placement(where, tuple(moves), by_carrier, {}, (), 0.0, 0)


def _reason(view: RouteView, partition: TopicPartition) -> Reason:
    if partition in view.pins:
        return Reason.PINNED
    return Reason.NEW if view.before.get(partition) is None else Reason.CARRIER_GONE
