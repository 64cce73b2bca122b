"""What a failover is planned from, as values: what was asked for, and what is known.

The source region is the one whose groups move; `here` is its aggregate, `there` the target's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from balancer.plan import TopicPartition
from replicator.failover.progress import Aggregate


class LogRange(NamedTuple):
    """The first offset that a log still holds, and the next one it will write."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Choice:
    """Where a group goes on where nothing is known: at the log's start, or from a time on.

    Args:
        at_ms: None is the log's start.
        offsets: what the target's logs answered for that time.
    """

    at_ms: int | None = None
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)

    def offset(self, place: TopicPartition, log: LogRange) -> int | None:
        """None: the log did not answer for that time."""
        return log.start if self.at_ms is None else self.offsets.get(place)

    def __str__(self) -> str:
        return "earliest" if self.at_ms is None else f"from timestamp {self.at_ms} on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What an operator asked for."""

    source: str
    target: str
    reason: str
    groups: frozenset[str]
    topics: frozenset[str] | None = None
    """None: all that the groups have committed on."""
    is_planned: bool = False
    choices: Mapping[str, Choice] = field(default_factory=dict)
    """By group."""
    may_go_back: frozenset[str] = frozenset()
    """Groups whose progress in the target region may be taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFacts:
    """One partition in both aggregates.

    A region whose records are mirrored into an aggregate stands in its `known`, also when nothing
    is known of them; a region that is left out there has no route into it.
    """

    here: Aggregate
    there: Aggregate
    here_start: int | None = None
    """None: the source region's aggregate did not say."""
    there_log: LogRange | None = None
    """Asked for after runs and ledger were read; None: the target has no such partition."""
    source_end: int | None = None
    """Where the source region's regional log ends; None: it did not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """All that is known in the target region when a plan is made."""

    commits: Mapping[str, Mapping[TopicPartition, int]]
    """By group: committed offsets in the source region's aggregate."""
    target_commits: Mapping[str, Mapping[TopicPartition, int]]
    partitions: Mapping[TopicPartition, PartitionFacts]
    mirrored_topics: frozenset[str]
    """Those that are mirrored into the target region."""
    active_in_target: frozenset[str]
    """Groups with members."""
    active_in_source: frozenset[str] | None = None
    """None: the source region did not say."""
    age_ms: int | None = None
    """How old the copies of commits, runs and ledger are."""
    primary_regions: Mapping[str, str] = field(default_factory=dict)
    """By group; one without a record is left out."""

    def untold_ledgers(
        self, request: Request, places: Iterable[TopicPartition]
    ) -> Mapping[str, int]:
        """Routes whose ledger says nothing, and of how many of these partitions."""
        untold: Counter[str] = Counter()
        for place in places:
            facts = self.partitions[place]
            for region, side in ((request.source, facts.here), (request.target, facts.there)):
                untold.update(
                    f"{origin}>{region}"
                    for origin, known in side.known.items()
                    if known.passed is None
                )
        return untold
