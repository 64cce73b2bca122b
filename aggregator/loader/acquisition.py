"""Acquisition: takes partitions over by custody of their intents.

1. Read the intents. Partitions without one are not adopted yet, or their intent is lost.
2. For each transactional id that they name: open the id, which fences its holder.
3. Read the intents again from coordinators that can write; keep those that still name the id.
4. Check that the source can still be read from the offset; if not, the intent is parked.
5. Commit intents of our own in a transaction of that id.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore
from aggregator.loader.loader_counts import LoaderCounts
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import Cluster, Fenced, ProducerStateLost
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.client.source_inspection import SourceFindings, inspect_source
from replicator.runtime.backoff import Backoff
from replicator.runtime.gather import gather_or_cancel

NOT_ADOPTED = "the driver has not adopted it yet"
NOT_SHOWN = "the cluster does not show the topic"
GONE = (
    "its intent is gone although it was adopted: name an offset to go on from "
    "(sluice aggregate accept-loss --restart-at)"
)
BEATEN = "another loader was faster"
BEATEN_SECONDS = (0.1, 2.0)


class ParkedAt(NamedTuple):
    """Reason why a partition is stopped, and the offset of its intent; None if that is gone."""

    reason: str
    offset: int | None


@dataclass(slots=True)
class Acquired:
    """Result for every partition that was asked for.

    Args:
        taken: held now: intents as committed, and the source leader epochs of the checks.
        parked: stopped, with the reason; an operator has to decide how the partition continues.
        waiting: not available now, with the reason; ask again.
    """

    taken: dict[TopicPartition, tuple[Intent, int]] = field(default_factory=dict)
    parked: dict[TopicPartition, ParkedAt] = field(default_factory=dict)
    waiting: dict[TopicPartition, str] = field(default_factory=dict)


class Acquisition:
    """Acquires partitions of one feed in one cluster for one loader.

    Args:
        fenced_committer: opened for the transactional id of the new intents.
        committer_of: makes a committer for another transactional id, not opened yet.
    """

    def __init__(
        self,
        *,
        intent_store: IntentStore,
        source: Cluster,
        fenced_committer: FencedCommitter,
        committer_of: Callable[[str], FencedCommitter],
        loader_counts: LoaderCounts,
    ):
        self._intent_store = intent_store
        self._source = source
        self._fenced_committer = fenced_committer
        self._committer_of = committer_of
        self._loader_counts = loader_counts
        self._backoff = Backoff(*BEATEN_SECONDS)

    async def acquire(self, partitions: Collection[TopicPartition]) -> Acquired:
        """Acquires all partitions that can be acquired now.

        Raises:
            Fenced, ProducerStateLost: this loader itself is superseded.
        """
        acquired = Acquired()
        intents = await self._intent_store.read(partitions)
        await self._sort_missing([p for p in partitions if p not in intents], acquired)
        by_id: dict[str, list[TopicPartition]] = {}
        for partition, intent in intents.items():
            if intent.parked:
                acquired.parked[partition] = ParkedAt(str(intent.parked), intent.offset)
            elif self._source.topic(partition.topic) is None:
                acquired.waiting[partition] = NOT_SHOWN
            else:
                by_id.setdefault(intent.transactional_id, []).append(partition)
        for transactional_id, some in by_id.items():
            try:
                await self._take(transactional_id, some, acquired)
            except (Fenced, ProducerStateLost):
                if transactional_id == self._fenced_committer.transactional_id:
                    raise
                acquired.waiting |= dict.fromkeys(some, BEATEN)
                await asyncio.sleep(self._backoff.jittered(0.2, 1.5))
                self._backoff.grow()
            else:
                self._backoff.reset()
        return acquired

    async def _sort_missing(self, missing: Iterable[TopicPartition], acquired: Acquired) -> None:
        """Parks partitions whose intent is lost; the others wait for the driver."""
        by_topic: dict[str, list[TopicPartition]] = {}
        for partition in missing:
            by_topic.setdefault(partition.topic, []).append(partition)
        for topic, some in by_topic.items():
            witnessed = await self._intent_store.witnessed(topic)
            for partition in some:
                if partition.partition < witnessed:
                    acquired.parked[partition] = ParkedAt(GONE, None)
                else:
                    acquired.waiting[partition] = NOT_ADOPTED

    async def _take(
        self, transactional_id: str, partitions: Iterable[TopicPartition], acquired: Acquired
    ) -> None:
        holder = self._fenced_committer
        if transactional_id != holder.transactional_id:
            holder = await self._committer_of(transactional_id).open()
        found = await self._intent_store.read_as_holder(holder, partitions)
        before = {
            partition: intent
            for partition, intent in found.items()
            if intent.transactional_id == transactional_id and not intent.parked
        }
        acquired.waiting |= {p: BEATEN for p in partitions if p not in before}
        looked = await self._looked(before)
        new: dict[TopicPartition, Intent] = {}
        for partition, intent in before.items():
            topic, source = self._source.topic(partition.topic), looked[partition]
            loss = source.loss or _vanished(partition, intent, topic is None)
            new[partition] = intent.park(loss) if loss else self._own(_with_epoch(intent, source))
        if not new:
            return
        await self._intent_store.replace(holder, before, new)
        for partition, intent in new.items():
            if intent.parked:
                acquired.parked[partition] = ParkedAt(str(intent.parked), intent.offset)
                self._loader_counts.lost(intent.parked.kind)
            else:
                acquired.taken[partition] = intent, looked[partition].leader

    async def _looked(
        self, intents: Mapping[TopicPartition, Intent]
    ) -> dict[TopicPartition, SourceFindings]:
        found = await gather_or_cancel(
            *(
                inspect_source(
                    self._source,
                    partition,
                    topic_id=intent.topic_id,
                    leader_epoch=intent.leader_epoch,
                    position=intent.offset,
                    # A former version noted an older epoch while it read again.
                    sealed_end=intent.sealed_end if intent.committed_ms else 0,
                )
                for partition, intent in intents.items()
            )
        )
        return dict(zip(intents, found, strict=True))

    def _own(self, intent: Intent) -> Intent:
        return replace(
            intent.by_our_clock(time.time_ns() // 1_000_000),
            custody=Custody.HELD,
            producer_id=self._fenced_committer.producer_id,
            epoch=self._fenced_committer.epoch,
            transactional_id=self._fenced_committer.transactional_id,
        )


def _with_epoch(intent: Intent, source: SourceFindings) -> Intent:
    """Returns the intent with a leader epoch that is as new as any that was read, also where a
    former version noted an older one while it read again."""
    if intent.committed_ms:
        return intent
    return replace(intent, leader_epoch=max(intent.leader_epoch, source.leader))


def _vanished(partition: TopicPartition, intent: Intent, is_gone: bool) -> Loss | None:
    """Returns the loss of a topic that was deleted while its intent was being taken over."""
    if not is_gone:
        return None
    return Loss(LossKind.SOURCE_DELETED, intent.offset, None, partition.topic)
