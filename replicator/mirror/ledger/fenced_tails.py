"""Fenced tails: fences the producers of HELD entries, and reads what they had landed."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import TypeVar

from balancer.plan import TopicPartition
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.inspection import Inspect, TargetFindings, inspect_target
from replicator.mirror.ledger.landed import Memory, landed
from replicator.mirror.ledger.leader_memory import ask_memory
from replicator.mirror.ledger.tail import Tail
from replicator.mirror.ledger.tail_readings import TailReadings
from replicator.runtime.gather import gather_or_cancel

T = TypeVar("T")


class FencedTails:
    """Reads the tails behind HELD entries once their producers are fenced.

    Args:
        own: the committer that acquires the partitions; it cannot fence itself.
        inspect: inspects a partition's target log.
    """

    def __init__(self, target: Cluster, own: FencedCommitter, inspect: Inspect = inspect_target):
        self.target = target
        self._inspect = inspect
        self._own = own
        self.readings = TailReadings(target)
        """Progress of tails between attempts."""

    async def examine(
        self, partition: TopicPartition, entry: Entry, holder: FencedCommitter
    ) -> TargetFindings:
        """Inspects the target's log, and whether the holder can fence the entry's producer."""
        found = await self._inspect(self.target, partition, entry)
        if found.loss or not self._must_fence(entry) or entry.producer_id == holder.producer_id:
            return found
        loss = Loss(
            LossKind.WRITER_FORGOTTEN,
            entry.target_offset,
            None,
            f"{entry.transactional_id} had producer id {entry.producer_id} and now has "
            f"{holder.producer_id} (transactional.id.expiration.ms), so its old producer cannot be "
            "fenced",
        )
        return replace(found, loss=loss)

    async def read_all(
        self,
        entries: Mapping[TopicPartition, Entry],
        found: Mapping[TopicPartition, TargetFindings],
        holder: FencedCommitter,
    ) -> dict[TopicPartition, Tail | Loss]:
        """Fences the producers of HELD entries, then reads the records that they had landed."""
        fenced = [p for p, entry in entries.items() if self._must_fence(entry)]
        if not fenced:
            return {}
        # Before the fence: its marker resets what the broker remembers of the old epoch.
        memories = await gather_by_partition(
            {p: ask_memory(self.target, p, entries[p].producer_id) for p in fenced}
        )
        by_topic: dict[str, list[int]] = {}
        for topic, number in fenced:
            by_topic.setdefault(topic, []).append(number)
        for topic, numbers in by_topic.items():
            await holder.fence(topic, numbers)
        marker = (holder.producer_id, holder.epoch)
        return await gather_by_partition(
            {p: self.read(p, entries[p], found[p], memories[p], marker) for p in fenced}
        )

    async def read(
        self,
        partition: TopicPartition,
        entry: Entry,
        found: TargetFindings,
        memory: Memory,
        marker: tuple[int, int],
    ) -> Tail | Loss:
        """Returns the tail behind one entry, or the loss that makes its record count unknown.

        Args:
            memory: of the entry's producer, asked before the fence.
            marker: (producer id, epoch) of the fence.
        """
        # After an accepted loss at the target, the entry's offsets mean nothing in today's log.
        begin = max(entry.target_offset, found.start)
        known = entry
        if found.loss:
            begin, known = found.start, replace(entry, mark=None)
        is_whole = found.loss is None and found.start <= entry.target_offset
        tail, memory = await self.readings.read(
            partition, known, begin, marker, found=found, memory=memory, is_whole=is_whole
        )
        count = landed(entry, tail, found.start, memory, is_whole=tail.is_whole)
        return count if isinstance(count, Loss) else replace(tail, landed=count)

    def _must_fence(self, entry: Entry) -> bool:
        is_own = entry.is_held_by(self._own.producer_id, self._own.epoch)
        return entry.custody is Custody.HELD and not is_own


async def gather_by_partition(
    asked: Mapping[TopicPartition, Awaitable[T]],
) -> dict[TopicPartition, T]:
    """Awaits all at once; returns the results in the order asked."""
    return dict(zip(asked, await gather_or_cancel(*asked.values()), strict=True))
