"""Fenced tails: fences the producers of HELD entries, and reads what they had landed."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import Answered, Cluster
from replicator.kafka.client.cluster_metadata import Leader
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.leader_epoch import LeaderEpochRequest
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.inspection import Inspect, TargetFindings, inspect_target
from replicator.mirror.ledger.landed import Memory, count_remembered, landed
from replicator.mirror.ledger.tail import Reading, Remembered, Tail, read_tail
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


class _LeaderChanged(Exception):
    """The metadata no longer names the leader that was to be asked."""


async def ask_memory(cluster: Cluster, partition: TopicPartition, producer_id: int) -> Memory:
    """Returns the leader's memory of a producer, and an epoch in which it led before it was asked.

    Any replica answers DescribeProducers, from its local log. So the broker confirms its epoch
    first; after another election no marker is written in that epoch.
    """
    epoch = await _confirmed_epoch(cluster, partition)
    states = await cluster.producer_states(*partition)
    return Memory(epoch, states.get(producer_id))


async def _confirmed_epoch(cluster: Cluster, partition: TopicPartition) -> int:
    """Returns the leader epoch once the leader confirms it; -1 when the topic is gone.

    Metadata may name an epoch before the broker leads in it.
    """
    while True:
        leader = cluster.leader(*partition)
        try:
            await _confirm(cluster, partition, leader)
        except _LeaderChanged:
            if cluster.topic(partition.topic) is None:
                return -1
        else:
            return leader.epoch if leader else -1


async def _confirm(cluster: Cluster, partition: TopicPartition, leader: Leader | None) -> None:
    """Returns once the broker answers as the leader of this epoch. Raises _LeaderChanged."""
    is_refused = False

    async def find() -> int | None:
        if is_refused or leader is None:
            await cluster.refresh()
        if cluster.leader(*partition) != leader or cluster.topic(partition.topic) is None:
            raise _LeaderChanged
        return leader.node if leader else None

    def refuse() -> None:
        nonlocal is_refused
        is_refused = True

    epoch = leader.epoch if leader else -1
    await cluster.ask(
        find,
        LeaderEpochRequest(*partition, epoch, current_leader_epoch=epoch),
        lambda r: [row[0] for _, rows in r.topics for row in rows],
        forget=refuse,
    )


@dataclass(slots=True)
class _Kept:
    """A reading that is kept between attempts.

    Args:
        memory: the last one that still has the entry's epoch, else that of the first attempt. The
            takeover's own marker resets the leader's memory.
        tail: set once the tail was read to its end. The first fence ended the tail, so it no longer
            changes.
    """

    reading: Reading
    memory: Memory
    tail: Tail | None = None


class TailReadings:
    """Keeps tail readings by partition until the entries are replaced (decision 0018)."""

    def __init__(self, target: Cluster):
        self._target = target
        self._kept: dict[TopicPartition, _Kept] = {}
        self._bytes_read = 0

    @property
    def bytes_read(self) -> int:
        """Bytes read of all tails, in all attempts."""
        return self._bytes_read + sum(each.reading.bytes_read for each in self._kept.values())

    async def read(
        self,
        partition: TopicPartition,
        entry: Entry,
        begin: int,
        marker: tuple[int, int],
        *,
        found: TargetFindings,
        memory: Memory,
        is_whole: bool,
    ) -> tuple[Tail, Memory]:
        """Returns the tail after an entry, and the memory to count with.

        Continues where a cancelled attempt stopped.

        Args:
            begin: offset where the tail begins; a reading that is continued keeps its own.
            marker: (producer id, epoch) of this takeover's own marker.
            found: inspection of the target's log, made before the leader was asked for its memory.
            memory: of the entry's writer, asked before that writer was fenced.
            is_whole: nothing was deleted between the entry and `begin`; kept like `begin`.
        """
        kept = self._kept.get(partition)
        if kept is None or kept.reading.entry != entry:
            self.forget([partition])
            known = remembered(entry, found, memory)
            reading = Reading(entry, begin, memory.leader_epoch, is_whole, known)
            kept = self._kept[partition] = _Kept(reading, memory)
        elif kept.tail is None:
            kept.reading.continue_from(found.start)
        if memory.state and memory.state.epoch == entry.epoch:
            kept.memory = memory
        try:
            kept.tail = kept.tail or await read_tail(self._target, partition, kept.reading, marker)
        except Answered:
            # The log no longer reaches the offset to read.
            self.forget([partition])
            raise
        return kept.tail, kept.memory

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Drops the readings of partitions whose entries were replaced."""
        for partition in partitions:
            kept = self._kept.pop(partition, None)
            self._bytes_read += kept.reading.bytes_read if kept else 0


def remembered(entry: Entry, found: TargetFindings, memory: Memory) -> Remembered | None:
    """Returns the leader's memory of the entry's writer as a count, or None if it is not reliable.

    It is not reliable when the leader may have forgotten some of it, when an earlier takeover has
    fenced the writer, or when another leader reported the log's end.
    """
    state = memory.state
    if state is None or state.epoch > entry.epoch or found.leader != memory.leader_epoch:
        return None
    count = count_remembered(entry, state) if state.epoch == entry.epoch else 0
    return Remembered(count, found.end)
