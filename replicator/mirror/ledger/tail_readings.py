"""Tail readings of a takeover: the next attempt does not read again what one attempt has read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from balancer.plan import TopicPartition
from replicator.kafka.client.cluster import Answered, Cluster
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.inspection import TargetFindings
from replicator.mirror.ledger.landed import Memory, count_remembered
from replicator.mirror.ledger.tail import Reading, Remembered, Tail, read_tail


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
