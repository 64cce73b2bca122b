"""What a placement makes of its carriers' loads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from balancer.plan import TopicPartition

Where = Mapping[TopicPartition, int]
Shares = Mapping[TopicPartition, float]


def loads(where: Where, shares: Shares, carriers: Collection[int]) -> dict[int, float]:
    """By carrier, what it carries; partitions elsewhere or without a share count for none."""
    found = dict.fromkeys(sorted(carriers), 0.0)
    for partition, carrier in where.items():
        if carrier in found and partition in shares:
            found[carrier] += shares[partition]
    return found


def calm_loads(
    where: Where, by_carrier: Mapping[int, float], hot: Iterable[TopicPartition]
) -> list[float]:
    """The loads of the carriers without a hot partition: with one they are as they have to be."""
    with_hot = {where[each] for each in hot if each in where}
    return [load for carrier, load in by_carrier.items() if carrier not in with_hot]


def excess(found: Iterable[float], limit: float) -> float:
    """How much these have above a limit, all together."""
    return sum(max(0.0, load - limit) for load in found)


def surplus(where: Where, partitions_max: int) -> int:
    """How many partitions carriers have above what each may hold, all together."""
    return sum(max(0, count - partitions_max) for count in Counter(where.values()).values())
