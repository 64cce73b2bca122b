"""Where a group that lives in another region is kept here, so that a consumer simply starts.

What is written follows that region: it goes on when the group does, and back when it was rewound
there. Knowing less than before is no reason to go back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from balancer.plan import TopicPartition
from replicator.planning.knowledge import Progress
from replicator.planning.plan import Case, Move


class Followed(NamedTuple):
    """What was last written here, and what the group had committed where it lives then."""

    committed: int
    written: Progress


def to_write(
    moves: Iterable[Move],
    held: Mapping[TopicPartition, Progress],
    followed: Mapping[TopicPartition, Followed],
) -> dict[TopicPartition, Progress]:
    """The positions that have to be written; of which nothing is known, none is.

    Args:
        moves: of one group, from where it lives to here.
        held: what is committed here.
    """
    wanted: dict[TopicPartition, Progress] = {}
    for move in moves:
        place = TopicPartition(move.topic, move.partition)
        if move.case is not Case.MOVES or move.resume is None or move.committed is None:
            continue
        found, before = Progress(move.resume, move.vector), followed.get(place)
        if move.basis != "exact" and before and move.committed >= before.committed:
            # If somebody else wrote here since, that says nothing of the group's own way.
            is_ours = held.get(place) == before.written
            found = _joined(found, before.written) if is_ours else found
        if held.get(place) != found:
            wanted[place] = found
    return wanted


def is_settled(moves: Iterable[Move], log_ends: Mapping[TopicPartition, int]) -> bool:
    """Whether nothing but another commit of the group changes what is to be written.

    At a log's end it does: what the group has read already may arrive.
    """
    return all(
        move.case in (Case.UNCOMMITTED, Case.NOT_MIRRORED, Case.GONE)
        or (
            move.case is Case.MOVES
            and move.basis == "exact"
            and move.resume is not None
            and move.resume < log_ends.get(TopicPartition(move.topic, move.partition), 0)
        )
        for move in moves
    )


def _joined(found: Progress, before: Progress) -> Progress:
    """What both say of a group that has only gone on."""
    if before.vector.keys() - found.vector.keys():
        # Of a region that is left out, offsets may mean other records by now, on either side.
        return found
    vector = {
        region: max(offset, before.vector.get(region, 0)) for region, offset in found.vector.items()
    }
    return Progress(max(found.offset, before.offset), vector)
