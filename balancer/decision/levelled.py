"""Placement by count alone, after the carriers have changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from balancer.decision.by_count import by_count
from balancer.plan import TopicPartition


def levelled(
    partitions: Iterable[TopicPartition],
    carriers: Collection[int],
    before: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """Returns the carrier of each partition, in order.

    The counts of the carriers differ by at most one, with as few moves as that takes.

    Raises ValueError when there is no carrier.
    """
    ordered = sorted(set(partitions))
    held: dict[int, list[TopicPartition]] = {carrier: [] for carrier in sorted(carriers)}
    for each in ordered:
        if before.get(each) in held:
            held[before[each]].append(each)
    share, rest = divmod(len(ordered), max(1, len(held)))
    kept: dict[TopicPartition, int] = {}
    # The fullest carriers may keep one more.
    for carrier in sorted(held, key=lambda at: (-len(held[at]), at)):
        allowed = share + (rest > 0)
        rest -= len(held[carrier]) >= allowed and rest > 0
        kept |= dict.fromkeys(held[carrier][:allowed], carrier)
    return by_count(ordered, carriers, kept)
