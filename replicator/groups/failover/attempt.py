"""Attempt to apply a plan: which groups were written, which were not, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from replicator.groups.failover.outcome import GroupOutcome, MoveState


@dataclass(slots=True)
class Attempt:
    """Notes of one attempt, by group.

    Args:
        obstacles: state of a group that was not moved, and the reason.
        remarks: remarks for the operator about groups that were moved.
        sent: groups whose offsets were sent to a broker.
    """

    obstacles: dict[str, tuple[MoveState, str]] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    sent: set[str] = field(default_factory=set)

    def note(self, groups: Iterable[str], state: MoveState, why: str) -> None:
        """Notes why groups are not moved; the first reason for a group counts."""
        for group in groups:
            self.obstacles.setdefault(group, (state, why))

    def judged(self, found: GroupOutcome, read_error: str) -> GroupOutcome:
        """Returns the outcome of a group after this attempt.

        Args:
            found: the outcome as the target shows it.
            read_error: why the target could not be read; empty if it was read.
        """
        state = found.state
        if state is MoveState.UNKNOWN:
            why = f"its offsets were sent, and could not be read back: {read_error}"
            return replace(found, why=why)
        if state is MoveState.OVERTAKEN:
            return found
        obstacle, was_sent = self.obstacles.get(found.group), found.group in self.sent
        # Consumers that prevented the write did not begin where the plan says, whatever they
        # committed.
        is_their_progress = was_sent and state is MoveState.MOVED_ON
        if obstacle and (not state.is_done or is_their_progress):
            return replace(found, state=obstacle[0], why=obstacle[1])
        if obstacle or not was_sent:
            return found
        if found.group in self.remarks and state.is_done:
            return replace(found, state=MoveState.WRITTEN, why=self.remarks[found.group])
        if state is MoveState.AS_PLANNED:
            return replace(found, state=MoveState.WRITTEN)
        return found
