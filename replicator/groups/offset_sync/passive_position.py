"""Position kept here of a group that lives in another region, so that a consumer can simply start.

The position follows that region: forward as the group reads, and back when it was rewound there.
Knowing less than before is no reason to go back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from balancer.topic_partition import TopicPartition
from replicator.groups.planning.failover_plan import Case, Move
from replicator.groups.planning.knowledge import Progress


class LastWritten(NamedTuple):
    """Position last written here, and the group's commit in its primary region at that time."""

    committed: int
    written: Progress


def to_write(
    moves: Iterable[Move],
    held: Mapping[TopicPartition, Progress],
    last_written: Mapping[TopicPartition, LastWritten],
    *,
    renews: bool = False,
) -> dict[TopicPartition, Progress]:
    """Returns the positions to write; none for a partition of which nothing is known.

    Args:
        moves: of one group, from its primary region to here.
        held: the group's commits here.
        last_written: what was written here before.
        renews: True writes positions as well that stand here already: without members, brokers
            forget them offsets.retention.minutes after their commit.
    """
    wanted: dict[TopicPartition, Progress] = {}
    for move in moves:
        partition = move.topic_partition
        if renews and move.case is Case.UNKNOWN and partition in held:
            wanted[partition] = held[partition]
        if move.case is not Case.MOVES or move.resume is None or move.committed is None:
            continue
        found, before = (
            Progress(move.resume, move.vector, move.metadata),
            last_written.get(partition),
        )
        if move.basis != "exact" and before and move.committed >= before.committed:
            # A commit by somebody else here says nothing about the group's own progress.
            is_ours = held.get(partition) == before.written
            found = _joined(found, before.written) if is_ours else found
        if renews or held.get(partition) != found:
            wanted[partition] = found
    return wanted


def is_settled(moves: Iterable[Move], log_ends: Mapping[TopicPartition, int]) -> bool:
    """Returns True if only another commit of the group changes what is to be written.

    At a log's end more than that changes it: records that the group has already read may arrive.
    """
    return all(
        move.case in (Case.UNCOMMITTED, Case.NOT_MIRRORED, Case.GONE)
        or (
            move.case is Case.MOVES
            and move.basis == "exact"
            and move.resume is not None
            and move.resume < log_ends.get(move.topic_partition, 0)
        )
        for move in moves
    )


def _joined(found: Progress, before: Progress) -> Progress:
    """Joins two answers about a group that has only moved forward: the larger offsets count."""
    if before.vector.keys() - found.vector.keys():
        # The offsets of a region that is left out may mean other records by now, on either side.
        return found
    vector = {
        region: max(offset, before.vector.get(region, 0)) for region, offset in found.vector.items()
    }
    return Progress(max(found.offset, before.offset), vector, found.metadata)
