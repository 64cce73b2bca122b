"""What a failover is planned from, as values: what was asked for, and what is known.

The source region is the one whose groups move; `here` is its aggregate, `there` the target's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from balancer.plan import TopicPartition
from replicator.progress.aggregate import NOTHING, Aggregate, Vector


class LogRange(NamedTuple):
    """The first offset that a log still holds, and the next one it will write."""

    start: int
    end: int


class Progress(NamedTuple):
    """What a group has committed on a partition: the next offset to read, and the vector beside it.

    Of each region the vector names, the group has read every record before that source offset,
    wherever it did; what its position alone says of them counts as well.
    """

    offset: int
    vector: Vector = NOTHING


@dataclass(frozen=True, slots=True)
class Choice:
    """Where a group goes on where nothing is known: at the log's start, or from a time on (ms)."""

    at_ms: int | None = None

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
    notes: tuple[str, ...] = ()
    """What an operator should hear of it, whichever group is moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """All that is known in the target region when a plan is made."""

    commits: Mapping[str, Mapping[TopicPartition, Progress]]
    """By group: what it has committed in the source region's aggregate."""
    target_commits: Mapping[str, Mapping[TopicPartition, Progress]]
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
    topics_left_out: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By group: those it has committed on in the source that were not asked for."""
    offsets_at: Mapping[int, Mapping[TopicPartition, int]] = field(default_factory=dict)
    """What the target's logs answered for the times (ms) of choices."""

    def chosen(self, choice: Choice, place: TopicPartition, log: LogRange) -> int | None:
        """Where a choice leads on a partition of the target; None: its log did not answer."""
        if choice.at_ms is None:
            return log.start
        return self.offsets_at.get(choice.at_ms, {}).get(place)

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
