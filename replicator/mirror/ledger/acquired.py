"""Result of an acquisition: the partitions that are held now, and the reasons for the others."""

from __future__ import annotations

from dataclasses import dataclass, field

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.entry import Entry


@dataclass(frozen=True, slots=True)
class Taken:
    """A partition whose ledger entry names this writer now.

    Args:
        entry: as committed.
        was_virgin: no record of the partition had ever been carried.
        source_leader, target_leader: leader epochs under which both logs were checked.
        accepted: every loss that was skipped on an operator's order, each once.
    """

    entry: Entry
    was_virgin: bool
    source_leader: int
    target_leader: int
    accepted: tuple[Loss, ...] = ()

    def published_up_to(self, before: Entry) -> int:
        """Returns the source offset below which the runs topic already has every run.

        Args:
            before: the entry that this one replaces.
        """
        if self.was_virgin:
            return 0  # nothing below was ever carried
        is_turned = any(loss.kind is LossKind.LEDGER_TURNED_BACK for loss in self.accepted)
        return self.entry.source_offset if is_turned else before.source_offset


@dataclass(slots=True)
class Acquired:
    """Result for every partition that a carrier asked for.

    Args:
        taken: held now.
        parked: stopped, with the reason; an operator has to decide how the partition continues.
        waiting: not available now, with the reason; ask again.
        lost: the partitions whose entries this acquisition parked, each counted once as a loss. A
            partition whose entry is gone or cannot be read is only in `parked`: every epoch finds
            it again.
        spared: left to their present holders, as the caller demanded.
    """

    taken: dict[TopicPartition, Taken] = field(default_factory=dict)
    parked: dict[TopicPartition, str] = field(default_factory=dict)
    waiting: dict[TopicPartition, str] = field(default_factory=dict)
    lost: set[TopicPartition] = field(default_factory=set)
    spared: set[TopicPartition] = field(default_factory=set)
