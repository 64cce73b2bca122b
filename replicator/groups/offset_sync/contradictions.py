"""Contradictions between copies in Redis and Kafka, for which a group is not moved forward.

Redis has copies of other regions' commits, and the runs that translate them. Anyone who may write
to Redis can change both. Kafka has the group's commit in its own region, and here the ledger and
the log's end. A reason is only given where Redis and Kafka both answer.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from balancer.topic_partition import TopicPartition
from replicator.groups.planning.knowledge import GroupProgress, Knowledge, PartitionFacts, Progress
from replicator.groups.progress.partition_in_region import Known


def contradicted(
    group: str,
    wanted: Mapping[TopicPartition, Progress],
    known: Knowledge,
    own: GroupProgress | None,
) -> dict[TopicPartition, str]:
    """Returns the positions of a group that must not go forward, and why.

    Args:
        own: commits in the group's own region, by group; None: it does not answer.
    """
    held = known.target_commits.get(group, {})
    found = {}
    for partition, progress in wanted.items():
        if not is_forward(progress, held.get(partition)):
            continue
        reason = of_runs(known.partitions[partition])
        if reason is None and own is not None:
            reason = of_commit(known.commits[group][partition], own.get(group, {}).get(partition))
        if reason:
            found[partition] = reason
    return found


def is_forward(wanted: Progress, held: Progress | None) -> bool:
    """Returns True if the group would skip a record that it reads from its present position."""
    if held is None or wanted.offset > held.offset:
        return True
    return _vector_ahead(wanted, held) is not None


def of_commit(copied: Progress, own: Progress | None) -> str | None:
    """Returns why a copied commit is not the group's own; None: nothing speaks against it.

    Args:
        own: the commit in the group's own region, read after the copy; None: there is none.
    """
    if own is None:
        return f"the copy has a commit at {copied.offset}, its own region has none"
    if copied.offset > own.offset:
        return f"the copy has a commit at {copied.offset}, its own region at {own.offset}"
    region = _vector_ahead(copied, own)
    if region is None:
        return None
    has_read, own_read = copied.vector[region], own.vector.get(region, 0)
    return f"the copy has {region} read up to {has_read}, its own region up to {own_read}"


def of_runs(facts: PartitionFacts) -> str | None:
    """Returns why runs in this region's Redis contradict its log; None: they do not."""
    if facts.there_log is None:
        return None
    for region, known in facts.there.known.items():
        if known.runs.target_end > facts.there_log.end:
            landed = known.runs.target_end
            return f"runs from {region} end at {landed}, the log here at {facts.there_log.end}"
        if reason := _beside_ledger(region, known):
            return reason
    return None


def _beside_ledger(region: str, known: Known) -> str | None:
    """Returns why runs contradict the ledger's entry; None: they do not.

    All records from below the entry's source offset stand below its target offset, and all others
    stand at or behind it.
    """
    # After an accepted loss, the older runs of a rewound source are replaced only as its records
    # are carried again.
    if known.passed is None or known.losses or known.numbering.cuts:
        return None
    passed, runs = known.passed, known.runs.piece()
    into = passed.source_offset - runs.sources
    before, after = into > 0, into < runs.counts
    ends = (runs.targets + np.minimum(runs.counts, into))[before]
    begins = (runs.targets + np.maximum(0, into))[after]
    entry = f"the ledger here has passed {passed.source_offset} at {passed.target_offset}"
    if len(ends) and ends.max() > passed.target_offset:
        return f"runs from {region} before that end at {ends.max()}, {entry}"
    if len(begins) and begins.min() < passed.target_offset:
        return f"runs from {region} behind that begin at {begins.min()}, {entry}"
    return None


def _vector_ahead(one: Progress, other: Progress) -> str | None:
    """Returns the first region of which the one has read more; None: there is none."""
    ahead = (name for name, it in one.vector.items() if it > other.vector.get(name, 0))
    return min(ahead, default=None)
