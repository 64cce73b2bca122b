"""Which groups have to be looked at again: those of which something may have changed.

A group's commits lie in one partition of `__consumer_offsets`, and copies say how far each of those
was read; so a group that stands still costs nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

LATE_MS = 10_000
"""Runs and ledger follow their records: so long after something has moved, more may be known."""
AGAIN_MS = 600_000
"""After that everything is looked at once more: somebody else may have written here."""


@dataclass(frozen=True, slots=True)
class Seen:
    """How things were when a group was last looked at.

    Args:
        commits: how far the copies of its commits were.
        is_settled: whether nothing but another commit changes what there is to write.
    """

    commits: Hashable
    at_ms: int
    is_settled: bool


@dataclass(frozen=True, slots=True)
class Around:
    """When logs, or copies of runs, were last seen to move."""

    signs: Hashable
    moved_ms: int

    def now(self, signs: Hashable, now_ms: int) -> Around:
        return self if signs == self.signs else Around(signs, now_ms)


def is_due(seen: Seen | None, commits: Hashable, around: Around | None, now_ms: int) -> bool:
    """Whether a group has to be looked at.

    Args:
        commits: how far the copies of its commits are now; None: not known.
        around: None: was not looked at.
    """
    if seen is None or commits is None or commits != seen.commits:
        return True
    if now_ms - seen.at_ms >= AGAIN_MS:
        return True
    return not seen.is_settled and around is not None and seen.at_ms < around.moved_ms + LATE_MS


def commits_partition(group: str, partitions: int) -> int:
    """The partition of `__consumer_offsets` that a broker chooses for a group."""
    value = 0
    units = group.encode("utf-16-be")
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >= 1 << 31 else value
    # Kafka's own abs() of the one number that has no counterpart is 0.
    return 0 if signed == -(1 << 31) else abs(signed) % partitions
