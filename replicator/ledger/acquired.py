"""What became of partitions that a carrier asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

from balancer.plan import TopicPartition
from replicator.ledger.entry import Entry
from replicator.ledger.loss import Loss, LossKind


@dataclass(frozen=True, slots=True)
class Taken:
    """A partition that this writer now holds.

    Args:
        entry: as committed.
        was_virgin: nothing of it had ever been carried.
        source_leader, target_leader: leader epochs under which both logs were checked.
        accepted: every loss that was stepped over, at an operator's word, named once.
    """

    entry: Entry
    was_virgin: bool
    source_leader: int
    target_leader: int
    accepted: tuple[Loss, ...] = ()

    def told_up_to(self, before: Entry) -> int:
        """Source offset before which the runs topic has all runs; `before` is replaced."""
        if self.was_virgin:
            return 0  # nothing below was ever carried
        is_turned = any(loss.kind is LossKind.LEDGER_TURNED_BACK for loss in self.accepted)
        return self.entry.source_offset if is_turned else before.source_offset


@dataclass(slots=True)
class Acquired:
    """What became of the partitions asked for.

    Args:
        taken: held now.
        parked: stopped, with the reason; an operator has to say how it goes on.
        waiting: not to be had just now, with the reason; ask again.
        lost: those of `parked` that were not parked before.
        spared: left to whoever holds them, at the taker's own word.
    """

    taken: dict[TopicPartition, Taken] = field(default_factory=dict)
    parked: dict[TopicPartition, str] = field(default_factory=dict)
    waiting: dict[TopicPartition, str] = field(default_factory=dict)
    lost: set[TopicPartition] = field(default_factory=set)
    spared: set[TopicPartition] = field(default_factory=set)
