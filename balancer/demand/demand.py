"""Every partition's share, whatever is known of it; and what of it is not to be believed.

Measured of a partition itself, or else what a file tells of it, or else as much as its topic's
others have on average, or else what a partition is taken for of which nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from enum import StrEnum

from balancer.plan import TopicPartition

JUMP_MAX = 1000.0
"""A share that has grown more than so many times since the last look is not believed at once."""
JUMP_FLOOR = 1e-3
"""What was less is taken for this much: to come from nothing to a whole carrier is no jump."""
SHARE_MAX = 1e6
"""So many carriers, for one partition."""


class Basis(StrEnum):
    """Where a share comes from."""

    MEASURED = "measured"
    FILE = "file"
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
    told: Mapping[TopicPartition, float],
    partitions: Iterable[TopicPartition],
    default_share: float,
) -> dict[TopicPartition, Demand]:
    """The demand of each of the partitions, in their order.

    Args:
        measured: what is believed of them.
        told: the same by a file; counts for those that were not measured.
    """
    shares_of: dict[str, list[float]] = {}
    for place, share in {**told, **measured}.items():
        shares_of.setdefault(place.topic, []).append(share)
    means = {topic: math.fsum(shares) / len(shares) for topic, shares in shares_of.items()}

    def demand(place: TopicPartition) -> Demand:
        if place in measured:
            return Demand(measured[place], Basis.MEASURED)
        if place in told:
            return Demand(told[place], Basis.FILE)
        if place.topic in means:
            return Demand(means[place.topic], Basis.TOPIC)
        return Demand(default_share, Basis.DEFAULT)

    return {place: demand(place) for place in partitions}


def measured_part(measured: Set[TopicPartition], partitions: Set[TopicPartition]) -> float:
    """How much of the partitions is known by themselves, 0 to 1: with too little nothing is to be
    moved, since what looks light may only not be known."""
    if not partitions:
        return 1.0
    return len(partitions & measured) / len(partitions)


def believed(
    new: Mapping[TopicPartition, float],
    seen: Mapping[TopicPartition, float],
    held: Mapping[TopicPartition, float],
) -> Believed:
    """New shares, but for those that are no load or have jumped; a jump seen twice is believed.

    Args:
        seen: what was `new` the last time.
        held: what was believed then.
    """
    shares: dict[TopicPartition, float] = {}
    doubts: dict[TopicPartition, str] = {}
    for place, share in new.items():
        doubt = _doubt(share, seen.get(place), held.get(place))
        if doubt is None:
            shares[place] = share
            continue
        doubts[place] = doubt
        if place in held:
            shares[place] = held[place]
    return Believed(shares, doubts)


def _doubt(share: float, seen: float | None, held: float | None) -> str | None:
    if not math.isfinite(share):
        return f"a share of {share} is no number"
    if share < 0:
        return f"a share of {share:g} is negative"
    if share > SHARE_MAX:
        return f"a share of {share:g} is more than anything has"
    was_so = seen is not None and math.isfinite(seen) and not _has_jumped(share, seen)
    if held is not None and _has_jumped(share, held) and not was_so:
        return f"a share of {share:g} is {share / max(held, JUMP_FLOOR):.0f} times what it was"
    return None


def _has_jumped(share: float, before: float) -> bool:
    return share > JUMP_MAX * max(before, JUMP_FLOOR)
