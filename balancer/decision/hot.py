"""Hot partitions: each gets a carrier of its own, as long as there are enough carriers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from balancer.decision.placement import PartitionShares, RouteView, Where
from balancer.decision.settings import Limits
from balancer.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class Division:
    """Division of a route's partitions into those with a given carrier and those to pack.

    Args:
        pins: carrier of each pinned partition.
        hot: share of each hot partition.
        alone: carrier of each hot partition that has one without free partitions.
        free: partitions to pack, in order.
        carriers: carriers to pack them on, in order.
    """

    pins: Where
    hot: PartitionShares
    alone: Where
    free: Sequence[TopicPartition]
    carriers: Sequence[int]


def divided(route: RouteView, limits: Limits) -> Division:
    """Returns the division: a partition above the threshold is hot."""
    partitions = sorted(route.shares)
    pins = {each: route.pins[each] for each in partitions if each in route.pins}
    hot = {each: route.shares[each] for each in partitions if route.shares[each] > limits.threshold}
    alone = _alone(route, hot, pins)
    free = [each for each in partitions if each not in pins and each not in alone]
    return Division(pins, hot, alone, free, sorted(set(route.carriers) - set(alone.values())))


def _alone(route: RouteView, hot: PartitionShares, pins: Where) -> dict[TopicPartition, int]:
    """Returns the carriers of the hot partitions that get one without free partitions.

    The hottest partitions come first, as long as one carrier is left for all others.
    """
    carriers = sorted(set(route.carriers))
    are_all_hot = len(hot) == len(route.shares) and len(hot) <= len(carriers)
    most = len(carriers) if are_all_hot else len(carriers) - 1
    present = Counter(
        carrier
        for each, carrier in route.before.items()
        if each in route.shares and each not in hot and each not in pins
    )
    has_pins = set(pins.values())
    unpinned = [at for at in carriers if at not in has_pins]
    chosen: dict[TopicPartition, int] = {}
    taken: set[int] = set()
    for partition in sorted(hot, key=lambda each: (-hot[each], each)):
        if len(chosen) == most:
            break
        candidates = [pins[partition]] if partition in pins else unpinned
        free = [at for at in candidates if at not in taken]
        if free:
            before = route.before.get(partition)
            # The carrier for which the fewest partitions move, this one included.
            carrier = min(free, key=lambda at: (present[at] + (at != before), at != before, at))
            chosen[partition] = carrier
            taken.add(carrier)
    return _without_swaps(chosen, route.before, pins)


def _without_swaps(chosen: Where, before: Where, pins: Where) -> dict[TopicPartition, int]:
    """Deals the carriers out again, so that no two unpinned hot partitions swap carriers."""
    free = {carrier for each, carrier in chosen.items() if each not in pins}
    found = {each: carrier for each, carrier in chosen.items() if each in pins}
    for each in chosen:
        if each not in pins and before.get(each) in free:
            found[each] = before[each]
            free.remove(before[each])
    left = sorted(free)
    return {each: found[each] if each in found else left.pop(0) for each in chosen}
