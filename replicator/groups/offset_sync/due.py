"""Groups that have to be planned again, because something about them may have changed.

A group's commits lie in one partition of `__consumer_offsets`, and copies tell how far each of
these was read. So a group that does not commit is planned again only each AGAIN_MS, or when logs or
runs change before it is settled.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from replicator.config.names import vectors_group

LATE_MS = 10_000
"""Time after a change during which more may become known: runs and ledger follow their records."""
AGAIN_MS = 600_000
"""Time after which every group is planned again: somebody else may have written here."""


@dataclass(frozen=True, slots=True)
class LastPlanned:
    """Signs by which a group was last planned.

    Args:
        commits: the position of the copies of its commits.
        is_settled: True if only another commit changes what there is to write.
    """

    commits: Hashable
    at_ms: int
    is_settled: bool


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Signs of the logs here and of the copies of runs, and when they last changed."""

    signs: Hashable
    changed_ms: int

    def refreshed(self, signs: Hashable, now_ms: int) -> Surroundings:
        return self if signs == self.signs else Surroundings(signs, now_ms)


def is_due(
    planned: LastPlanned | None,
    commits: Hashable,
    surroundings: Surroundings | None,
    now_ms: int,
    again_ms: int = AGAIN_MS,
) -> bool:
    """Returns True if a group has to be planned.

    Args:
        commits: the present position of the copies of its commits; None: not known.
        surroundings: None: they were not read.
        again_ms: time after which every group is planned again.
    """
    if planned is None or commits is None or commits != planned.commits:
        return True
    if now_ms - planned.at_ms >= again_ms:
        return True
    return (
        not planned.is_settled
        and surroundings is not None
        and planned.at_ms < surroundings.changed_ms + LATE_MS
    )


def commits_sign(group: str, positions: Mapping[int, Hashable], *, has_metadata: bool) -> Hashable:
    """Returns how far the copies of a group's commits were read; None: not known.

    Args:
        positions: of the copies, by partition of `__consumer_offsets`.
        has_metadata: True if vectors stand beside the commits: they may be copied later.
    """
    position = positions.get(commits_partition(group, len(positions))) if positions else None
    if position is None or not has_metadata:
        return position
    return position, positions.get(commits_partition(vectors_group(group), len(positions)))


def commits_partition(group: str, partitions: int) -> int:
    """Returns the partition of `__consumer_offsets` that a broker chooses for a group."""
    value = 0
    units = group.encode("utf-16-be")
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >= 1 << 31 else value
    # Kafka's abs() returns 0 for the one number without a positive counterpart.
    return 0 if signed == -(1 << 31) else abs(signed) % partitions
