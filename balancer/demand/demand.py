"""Share of every partition, from the best source that is known; and doubts about new shares.

The sources are, in this order: a measurement of the partition itself, a throughput file, the mean
of the topic's known partitions, and a default.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from enum import StrEnum

from balancer.topic_partition import TopicPartition

JUMP_MAX = 1000.0
"""Growth factor above which a new share is not believed at once."""
JUMP_FLOOR = 1e-3
"""Least previous share for the growth factor: a rise from nothing to a whole carrier is no jump."""
SHARE_MAX = 1e6
"""Largest credible share of one partition, in carriers."""


class Basis(StrEnum):
    """Source of a share."""

    MEASURED = "measured"
    FILE = "file"
    TOPIC = "topic"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Demand:
    """Part of a carrier's time that a partition takes (1.0 is all of it), with its source."""

    share: float
    basis: Basis


@dataclass(frozen=True, slots=True)
class Believed:
    """Shares that passed the check, and doubts about the others.

    Args:
        shares: by partition; the previously believed share, if any, when the new one is doubted.
        doubts: by partition, why its new share is not believed.
    """

    shares: Mapping[TopicPartition, float]
    doubts: Mapping[TopicPartition, str]


def demands(
    measured: Mapping[TopicPartition, float],
    from_file: Mapping[TopicPartition, float],
    partitions: Iterable[TopicPartition],
    default_share: float,
) -> dict[TopicPartition, Demand]:
    """Returns the demand of each partition, in the order of `partitions`.

    Args:
        measured: believed shares of measured partitions.
        from_file: shares from a file; they count for partitions that were not measured.
        default_share: share of a partition of which nothing is known.
    """
    shares_of: dict[str, list[float]] = {}
    for partition, share in {**from_file, **measured}.items():
        shares_of.setdefault(partition.topic, []).append(share)
    means = {topic: math.fsum(shares) / len(shares) for topic, shares in shares_of.items()}

    def demand(partition: TopicPartition) -> Demand:
        if partition in measured:
            return Demand(measured[partition], Basis.MEASURED)
        if partition in from_file:
            return Demand(from_file[partition], Basis.FILE)
        if partition.topic in means:
            return Demand(means[partition.topic], Basis.TOPIC)
        return Demand(default_share, Basis.DEFAULT)

    return {partition: demand(partition) for partition in partitions}


def measured_part(measured: Set[TopicPartition], partitions: Set[TopicPartition]) -> float:
    """Returns the part of the partitions that has a measurement of its own, 0 to 1.

    With too small a part nothing should move: a partition that looks light may only be unknown.
    """
    if not partitions:
        return 1.0
    return len(partitions & measured) / len(partitions)


def believed(
    new: Mapping[TopicPartition, float],
    seen: Mapping[TopicPartition, float],
    held: Mapping[TopicPartition, float],
) -> Believed:
    """Checks new shares; doubts those that are no valid load or have jumped.

    A jump that is seen twice is believed.

    Args:
        new: shares of this round.
        seen: `new` of the previous round.
        held: shares that were believed in the previous round.
    """
    shares: dict[TopicPartition, float] = {}
    doubts: dict[TopicPartition, str] = {}
    for partition, share in new.items():
        doubt = _doubt(share, seen.get(partition), held.get(partition))
        if doubt is None:
            shares[partition] = share
            continue
        doubts[partition] = doubt
        if partition in held:
            shares[partition] = held[partition]
    return Believed(shares, doubts)


def _doubt(share: float, seen: float | None, held: float | None) -> str | None:
    if not math.isfinite(share):
        return f"a share of {share} is not a number"
    if share < 0:
        return f"a share of {share:g} is negative"
    if share > SHARE_MAX:
        return f"a share of {share:g} is more than any partition takes"
    was_so = seen is not None and math.isfinite(seen) and not _has_jumped(share, seen)
    if held is not None and _has_jumped(share, held) and not was_so:
        return f"a share of {share:g} is {share / max(held, JUMP_FLOOR):.0f} times the former one"
    return None


def _has_jumped(share: float, before: float) -> bool:
    return share > JUMP_MAX * max(before, JUMP_FLOOR)
