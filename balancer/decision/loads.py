"""Loads of the carriers in a placement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from balancer.plan import TopicPartition

Where = Mapping[TopicPartition, int]
Shares = Mapping[TopicPartition, float]


def loads(where: Where, shares: Shares, carriers: Collection[int]) -> dict[int, float]:
    """Returns the load of each carrier; partitions elsewhere or without a share do not count."""
    found = dict.fromkeys(sorted(carriers), 0.0)
    for partition, carrier in where.items():
        if carrier in found and partition in shares:
            found[carrier] += shares[partition]
    return found


def calm_loads(
    where: Where, by_carrier: Mapping[int, float], hot: Iterable[TopicPartition]
) -> list[float]:
    """Returns the loads of the carriers without a hot partition.

    The load of a carrier with a hot partition cannot be balanced.
    """
    with_hot = {where[each] for each in hot if each in where}
    return [load for carrier, load in by_carrier.items() if carrier not in with_hot]


def excess(found: Iterable[float], limit: float) -> float:
    """Returns the sum of the parts of the loads that exceed a limit."""
    return sum(max(0.0, load - limit) for load in found)


def surplus(where: Where, partitions_max: int) -> int:
    """Returns how many partitions the carriers hold above what each may hold, in total."""
    return sum(max(0, count - partitions_max) for count in Counter(where.values()).values())
