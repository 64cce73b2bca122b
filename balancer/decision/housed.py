"""Overflow: a carrier also for partitions for which no carrier has room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from balancer.decision.by_count import by_count
from balancer.decision.limits import Limits
from balancer.decision.loads import loads
from balancer.decision.placement import Move, Placement, Reason
from balancer.decision.placing import RouteView
from balancer.plan import TopicPartition


def housed(placement: Placement, view: RouteView, limits: Limits) -> Placement:
    """Returns the placement with its unplaced partitions placed; `homeless` still lists them.

    An unplaced partition goes back to its carrier, unless that carrier is full while another one
    has room, even one with a hot partition. All others go to the carrier with the fewest
    partitions.
    """
    if not placement.homeless:
        return placement
    stays, reason = _stays(placement, view, limits), _reasons(placement, view, limits)
    where = by_count(view.shares, view.carriers, {**stays, **placement.where})
    moves = [
        Move(each, view.before.get(each), where[each], reason(each))
        for each in placement.homeless
        if view.before.get(each) != where[each]
    ]
    return replace(
        placement,
        where=where,
        moves=tuple(sorted([*placement.moves, *moves], key=lambda move: move.partition)),
        loads=loads(where, view.shares, view.carriers),
    )


def _stays(placement: Placement, view: RouteView, limits: Limits) -> dict[TopicPartition, int]:
    """Returns the unplaced partitions that go back, with their carriers; the heaviest go first."""
    counts = Counter(placement.where.values())
    room = {at: max(0, limits.partitions_max - counts[at]) for at in set(view.carriers)}
    heaviest_first = sorted(placement.homeless, key=lambda each: (-view.shares[each], each))
    had_one = [each for each in heaviest_first if view.before.get(each) in room]
    stays = {}
    for each in had_one:
        if room[view.before[each]]:
            room[view.before[each]] -= 1
            stays[each] = view.before[each]
    leave = [each for each in had_one if each not in stays]
    elsewhere = sum(room.values()) - (len(placement.homeless) - len(had_one))
    for each in leave[: max(0, len(leave) - max(0, elsewhere))]:
        stays[each] = view.before[each]
    return stays


def _reasons(
    placement: Placement, view: RouteView, limits: Limits
) -> Callable[[TopicPartition], Reason]:
    """Returns a function that gives the reason why an unplaced partition changes its carrier."""
    carriers = set(view.carriers)
    with_pins = {**view.before, **view.pins}
    held = Counter(carrier for each, carrier in with_pins.items() if each in view.shares)
    is_full_plan = placement.certificate is None

    def reason(partition: TopicPartition) -> Reason:
        before = view.before.get(partition)
        if before is None:
            return Reason.NEW
        if before not in carriers:
            return Reason.CARRIER_GONE
        if held[before] > limits.partitions_max:
            return Reason.TOO_MANY
        return Reason.FULL_PLAN if is_full_plan else Reason.MAKES_ROOM

    return reason
