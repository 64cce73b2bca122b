"""Every partition's share, whatever is known of it; and what of it is not to be believed.

Known of a partition itself, or else as much as its topic's others have on average, or else what a
partition is taken for of which nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from balancer.plan import TopicPartition

JUMP_MAX = 1000.0
"""A share that has grown more than so many times since the last look is not believed at once."""
JUMP_FLOOR = 1e-3
"""What was less is taken for this much: from nothing to a thousandth of a carrier is no jump."""


class Basis(StrEnum):
    """Where a share comes from."""

    MEASURED = "measured"
    TOPIC = "topic"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Demand:
    """What a partition takes of a carrier: 1.0 is all of its time."""

    share: float
    basis: Basis


@dataclass(frozen=True, slots=True)
class Believed:
    """Shares that were looked through.

    Args:
        shares: by partition; where a new one was not believed, what was there before.
        doubts: why not, by partition.
    """

    shares: Mapping[TopicPartition, float]
    doubts: Mapping[TopicPartition, str]


def demands(
    measured: Mapping[TopicPartition, float],
    partitions: Iterable[TopicPartition],
    default_share: float,
) -> dict[TopicPartition, Demand]:
    """The demand of each of the partitions, in their order."""
    shares_of: dict[str, list[float]] = {}
    for place, share in measured.items():
        shares_of.setdefault(place.topic, []).append(share)
    means = {topic: math.fsum(shares) / len(shares) for topic, shares in shares_of.items()}

    def demand(place: TopicPartition) -> Demand:
        if place in measured:
            return Demand(measured[place], Basis.MEASURED)
        if place.topic in means:
            return Demand(means[place.topic], Basis.TOPIC)
        return Demand(default_share, Basis.DEFAULT)

    return {place: demand(place) for place in partitions}


def measured_part(
    measured: Collection[TopicPartition], partitions: Collection[TopicPartition]
) -> float:
    """How much of the partitions is known by themselves, 0 to 1: with too little nothing is to be
    moved, since what looks light may only not be known."""
    if not partitions:
        return 1.0
    return sum(place in measured for place in partitions) / len(partitions)


def believed(
    new: Mapping[TopicPartition, float], before: Mapping[TopicPartition, float]
) -> Believed:
    """New shares, but for those that are no load or have jumped.

    A jump is believed when it is seen again: whoever calls this keeps `new` as the next `before`.
    """
    shares: dict[TopicPartition, float] = {}
    doubts: dict[TopicPartition, str] = {}
    for place, share in new.items():
        doubt = _doubt(share, before.get(place))
        if doubt is None:
            shares[place] = share
            continue
        doubts[place] = doubt
        if place in before and _doubt(before[place], None) is None:
            shares[place] = before[place]
    return Believed(shares, doubts)


def _doubt(share: float, before: float | None) -> str | None:
    if not math.isfinite(share):
        return f"a share of {share} is no number"
    if share < 0:
        return f"a share of {share:g} is negative"
    if before is not None and math.isfinite(before):
        times = share / max(before, JUMP_FLOOR)
        if times > JUMP_MAX:
            return f"a share of {share:g} is {times:.0f} times what it was"
    return None
