"""Input of a failover plan, as values: the request, and what is known.

The source region is the one whose groups move; `here` is its aggregate, `there` the target's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from balancer.topic_partition import TopicPartition
from replicator.config.names import vectors_group
from replicator.groups.progress.partition_in_region import NOTHING, PartitionInRegion, Vector
from replicator.groups.progress.vector_metadata import is_foreign, vector_of
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata


class LogRange(NamedTuple):
    """First offset that a log still holds, and the next offset that it will write."""

    start: int
    end: int


class Progress(NamedTuple):
    """Committed position of a group: the next offset to read, and the vector beside it.

    The group has read every record of a region below the vector's offset, in whichever aggregate.
    Records before the position count as read as well. `metadata` is the application's own, empty
    where it has none.
    """

    offset: int
    vector: Vector = NOTHING
    metadata: str = ""


GroupProgress = Mapping[str, Mapping[TopicPartition, Progress]]
"""Progress of groups, by group and partition."""


GroupCommits = Mapping[str, Mapping[TopicPartition, OffsetAndMetadata]]
"""Commits of groups, by group and partition."""
NO_COMMITS: GroupCommits = MappingProxyType({})


def vectors_groups(commits: GroupCommits) -> list[str]:
    """Returns the groups that keep the vectors of groups with metadata of their own."""
    return [
        vectors_group(group)
        for group, of_group in commits.items()
        if any(is_foreign(commit.metadata) for commit in of_group.values())
    ]


def progress_of(
    commits: GroupCommits, beside: GroupCommits = NO_COMMITS
) -> dict[str, dict[TopicPartition, Progress]]:
    """Returns the progress that groups' commits stand for.

    Args:
        beside: commits of the groups that vectors_groups() returned.
    """
    return {
        group: {
            partition: Progress(
                commit.offset,
                vector_of(commit, beside.get(vectors_group(group), {}).get(partition)),
                commit.metadata if is_foreign(commit.metadata) else "",
            )
            for partition, commit in of_group.items()
        }
        for group, of_group in commits.items()
    }


@dataclass(frozen=True, slots=True)
class Choice:
    """Operator's choice where nothing is known: from the log's start, or from a time (ms) on."""

    at_ms: int | None = None

    def __str__(self) -> str:
        return "earliest" if self.at_ms is None else f"from timestamp {self.at_ms} on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Request of an operator."""

    source: str
    target: str
    reason: str
    groups: frozenset[str]
    topics: frozenset[str] | None = None
    """Topics to move; None: all that the groups have committed on."""
    is_planned: bool = False
    takes_all: bool = False
    """True if all groups that live in the source were asked for, and not some by name."""
    choices: Mapping[str, Choice] = field(default_factory=dict)
    """Choices by group."""
    may_go_back: frozenset[str] = frozenset()
    """Groups whose progress in the target region may be taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFacts:
    """Facts about one partition in both aggregates.

    A region whose records are mirrored into an aggregate stands in its `known`, also when nothing
    is known of them. A region that is left out has no route into the aggregate.
    """

    here: PartitionInRegion
    there: PartitionInRegion
    here_start: int | None = None
    """Start of the log in the source region's aggregate; None: it did not answer."""
    there_log: LogRange | None = None
    """Log of the target, read after runs and ledger; None: the target has no such partition."""
    source_end: int | None = None
    """End of the log in the source region's regional cluster; None: it did not answer."""
    notes: tuple[str, ...] = ()
    """Notes for the operator, whichever group is moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Everything that is known in the target region when a plan is made."""

    commits: GroupProgress
    """Commits in the source region's aggregate, by group."""
    target_commits: GroupProgress
    partitions: Mapping[TopicPartition, PartitionFacts]
    mirrored_topics: frozenset[str]
    """Topics that are mirrored into the target region."""
    active_in_target: frozenset[str]
    """Groups with members in the target."""
    active_in_source: frozenset[str] | None = None
    """Groups with members in the source; None: the source region did not answer."""
    age_ms: int | None = None
    """Age of the copies of commits, runs and ledger."""
    primary_regions: Mapping[str, str] = field(default_factory=dict)
    """Primary region by group; a group without a record is left out."""
    unmovable: Mapping[str, str] | None = field(default_factory=dict)
    """Groups of the source whose progress is no committed offset, with their types; None: not
    known.
    """
    topics_left_out: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Topics by group that it has committed on in the source and that were not asked for."""
    offsets_at: Mapping[int, Mapping[TopicPartition, int]] = field(default_factory=dict)
    """Answers of the target's logs for the times (ms) of choices."""

    def chosen(self, choice: Choice, partition: TopicPartition, log: LogRange) -> int | None:
        """Returns the offset that a choice leads to in the target; None: its log did not answer."""
        if choice.at_ms is None:
            return log.start
        return self.offsets_at.get(choice.at_ms, {}).get(partition)

    def unknown_ledgers(
        self, request: Request, partitions: Iterable[TopicPartition]
    ) -> Mapping[str, int]:
        """Returns the routes whose ledger says nothing, and for how many of these partitions."""
        unknown: Counter[str] = Counter()
        for partition in partitions:
            facts = self.partitions[partition]
            for region, side in ((request.source, facts.here), (request.target, facts.there)):
                unknown.update(
                    f"{origin}>{region}"
                    for origin, known in side.known.items()
                    if known.passed is None
                )
        return unknown
