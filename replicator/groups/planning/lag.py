"""Lag of a target before a switchover: the records that must arrive, and how many are missing.

Source offsets are counted; at some of them a log holds no record for consumers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from balancer.topic_partition import TopicPartition
from replicator.groups.planning.failover_plan import Case, Move
from replicator.groups.planning.knowledge import Knowledge


class Origin(NamedTuple):
    """Records of one region in one partition."""

    region: str
    partition: TopicPartition


Goals = Mapping[Origin, int]
"""Source offsets before which everything must be in the target."""


@dataclass(frozen=True, slots=True)
class Lag:
    """Distance of the target from its goals.

    Args:
        missing: at most so many records, by source region.
        unknown: partitions whose progress is not known.
        is_fresh: True if the copies are younger than the moment when the groups had stopped.
    """

    missing: Mapping[str, int] = field(default_factory=dict)
    unknown: int = 0
    is_fresh: bool = True

    @property
    def records(self) -> int:
        return sum(self.missing.values())

    @property
    def is_zero(self) -> bool:
        return not self.records and not self.unknown and self.is_fresh

    def __str__(self) -> str:
        texts = [f"{count} records of {name}" for name, count in self.missing.items() if count]
        if self.unknown:
            texts.append(f"partitions without a known ledger entry: {self.unknown}")
        if not self.is_fresh:
            texts.append("the last commits")
        return ", ".join(texts) or "nothing"


def goals(ends: Mapping[Origin, int], moves: Iterable[Move]) -> Goals:
    """Returns the goals: all that the regions had written, and all that the groups have read.

    Args:
        ends: of the regional logs when they were read, where their region answered.
    """
    found = dict(ends)
    for move in moves:
        if move.case is Case.MOVES:
            partition = move.topic_partition
            for region, unread in move.vector.items():
                origin = Origin(region, partition)
                found[origin] = max(found.get(origin, 0), unread)
    return found


def lag(wanted: Goals, knowledge: Knowledge, *, fresh_age_ms: int) -> Lag:
    """Returns how much of the goals is missing, by what is known of the target.

    A region without a route into the target, a topic that is not mirrored there, and a partition
    that the target does not have, have nothing to wait for. The plan says what that means.

    Args:
        fresh_age_ms: older copies may lack commits of groups that have stopped.
    """
    missing: Counter[str] = Counter()
    unknown = 0
    for (region, partition), goal in wanted.items():
        facts = knowledge.partitions.get(partition)
        if facts is None or facts.there_log is None or region not in facts.there.known:
            continue
        if partition.topic not in knowledge.mirrored_topics:
            continue
        reached = facts.there.known[region].reached
        if reached is None and goal:
            unknown += 1
        else:
            missing[region] += max(0, goal - (reached or 0))
    is_fresh = knowledge.age_ms is not None and knowledge.age_ms <= fresh_age_ms
    return Lag(dict(missing), unknown, is_fresh)
