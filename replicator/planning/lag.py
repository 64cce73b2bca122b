"""What has to arrive in a target before a switchover moves groups there, and how much is missing.

Source offsets are counted: of some of them a log holds no record for consumers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from balancer.plan import TopicPartition
from replicator.planning.knowledge import Knowledge
from replicator.planning.plan import Case, Move


class Origin(NamedTuple):
    """One region's records in one partition."""

    region: str
    place: TopicPartition


Goals = Mapping[Origin, int]
"""The source offsets before which everything has to be in the target."""


@dataclass(frozen=True, slots=True)
class Lag:
    """How far the target is from its goals.

    Args:
        missing: by source region, at most so many records.
        untold: partitions of which nobody said how far they are.
        is_fresh: whether the copies are younger than the moment when the groups had stopped.
    """

    missing: Mapping[str, int] = field(default_factory=dict)
    untold: int = 0
    is_fresh: bool = True

    @property
    def records(self) -> int:
        return sum(self.missing.values())

    @property
    def is_zero(self) -> bool:
        return not self.records and not self.untold and self.is_fresh

    def __str__(self) -> str:
        texts = [f"{count} records of {name}" for name, count in self.missing.items() if count]
        if self.untold:
            texts.append(f"partitions of which no ledger tells: {self.untold}")
        if not self.is_fresh:
            texts.append("the last commits")
        return ", ".join(texts) or "nothing"


def goals(ends: Mapping[Origin, int], moves: Iterable[Move]) -> Goals:
    """Everything that the regions had written when it was asked, and that the groups have read.

    Args:
        ends: of the regional logs, where their region answered.
    """
    found = dict(ends)
    for move in moves:
        if move.case is Case.MOVES:
            place = TopicPartition(move.topic, move.partition)
            for region, unread in move.vector.items():
                origin = Origin(region, place)
                found[origin] = max(found.get(origin, 0), unread)
    return found


def lag(wanted: Goals, knowledge: Knowledge, *, fresh_age_ms: int) -> Lag:
    """How much of the goals is missing, by what is known of the target.

    A region without a route into it, and a partition that it does not have, has nothing to wait
    for: the plan says what that means.

    Args:
        fresh_age_ms: copies that are older than that may lack commits of groups that have stopped.
    """
    missing: Counter[str] = Counter()
    untold = 0
    for (region, place), goal in wanted.items():
        facts = knowledge.partitions.get(place)
        if facts is None or facts.there_log is None or region not in facts.there.known:
            continue
        reached = facts.there.known[region].reached
        if reached is None and goal:
            untold += 1
        else:
            missing[region] += max(0, goal - (reached or 0))
    is_fresh = knowledge.age_ms is not None and knowledge.age_ms <= fresh_age_ms
    return Lag(dict(missing), untold, is_fresh)
