"""Acceptances of losses, each as the ledger shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.entry import Entry
from tests.world.checks.entry_view import EntryView
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.partition import Partition
from tests.world.mirror.mirroring import ROUTE


@dataclass(frozen=True, slots=True)
class Accepted:
    """Acceptance of one loss.

    Args:
        loss: the one that parked the partition; None if the ledger had no entry.
        was_at, goes_on_at: source offsets.
        begins_anew: True if the source is another topic since, or may be.
    """

    loss: Loss | None
    was_at: int
    goes_on_at: int
    begins_anew: bool

    def gives_up(self, source_offset: int, deleted: int, *, is_refused: bool) -> bool:
        """Returns True for a record of the source that is not carried any more.

        Args:
            deleted: offset before which retention has deleted the source's records.
            is_refused: the target has refused the record.
        """
        if not source_offset < self.goes_on_at:
            return False
        if self.begins_anew or self.was_at <= source_offset < deleted:
            return True
        loss = self.loss
        if loss is None or not loss.kind.at_source or source_offset < loss.begin:
            return False
        return is_refused or loss.kind is not LossKind.RECORDS_REFUSED


class Acceptances(EntryView):
    """Acceptances of one route. The ledger shows those of commands that were killed as well."""

    def __init__(self, target: KafkaCluster) -> None:
        self._done: dict[TopicPartition, list[Accepted]] = {}
        self._before: dict[TopicPartition, Entry] = {}
        super().__init__(target, ROUTE, self._replaced)

    def done(self, place: TopicPartition) -> Sequence[Accepted]:
        """Returns the acceptances of a partition since its source is today's topic."""
        done = self._done.get(place, [])
        anew = [at for at, it in enumerate(done) if it.begins_anew]
        return done[anew[-1] if anew else 0 :]

    def _replaced(self, place: TopicPartition, entry: Entry) -> None:
        before, self._before[place] = self._before.get(place), entry
        if entry.parked or entry.losses <= (before.losses if before else 0):
            return
        self._done.setdefault(place, []).append(
            Accepted(
                before.parked if before else None,
                before.source_offset if before else 0,
                entry.source_offset,
                begins_anew=before is None or before.source_topic != entry.source_topic,
            )
        )

    @override
    def other_seen(self, partition: Partition, value: Any) -> None:
        super().other_seen(partition, value)
        self._before = {place: it for place, it in self._before.items() if place in self.entries}
