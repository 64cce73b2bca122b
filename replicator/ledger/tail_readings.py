"""Tails that a taker reads: what one attempt has read, the next one need not read again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from balancer.plan import TopicPartition
from replicator.kafka.cluster import Answered, Cluster
from replicator.ledger.entry import Entry
from replicator.ledger.inspection import TargetFindings
from replicator.ledger.landed import Memory
from replicator.ledger.tail import Reading, Remembered, Tail, read_tail


@dataclass(slots=True)
class _Kept:
    """A reading between attempts.

    Args:
        memory: of the first attempt: its own marker resets what the leader remembers.
        tail: once all of it was read; the first fence ended it, so it does not change any more.
    """

    reading: Reading
    memory: Memory
    tail: Tail | None = None


class TailReadings:
    """Keeps how far tails were read, by partition, until their entries are replaced (0018)."""

    def __init__(self, target: Cluster):
        self._target = target
        self._kept: dict[TopicPartition, _Kept] = {}
        self._bytes_read = 0

    @property
    def bytes_read(self) -> int:
        """Bytes of all tails, in all attempts."""
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
        """The tail behind an entry, and the memory to count with.

        An attempt that is cancelled is gone on with by the next.

        Args:
            found: the target's log, looked at before the leader was asked for its memory.
            memory: of the entry's writer, asked before it was fenced.
            others: as of read_tail.
        """
        kept = self._kept.get(partition)
        if kept is None or kept.reading.entry != entry:
            self.forget([partition])
            known = remembered(entry, found, memory)
            reading = Reading(entry, begin, memory.leader_epoch, is_whole, known)
            kept = self._kept[partition] = _Kept(reading, memory)
        elif kept.tail is None:
            kept.reading.go_on(found.start)
        if memory.state and memory.state.epoch == entry.epoch:
            kept.memory = memory
        try:
            kept.tail = kept.tail or await read_tail(
                self._target, partition, entry, kept.reading.begin, marker, reading=kept.reading
            )
        except Answered:
            # The log does not reach as far any more.
            self.forget([partition])
            raise
        return kept.tail, kept.memory

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Their entries were replaced."""
        for partition in partitions:
            kept = self._kept.pop(partition, None)
            self._bytes_read += kept.reading.bytes_read if kept else 0


def remembered(entry: Entry, found: TargetFindings, memory: Memory) -> Remembered | None:
    """What the leader knows of the entry's writer; None where it may have forgotten some of it, a
    taker before us has fenced it, or another leader told the log's end."""
    state = memory.state
    if state is None or state.epoch > entry.epoch or found.leader != memory.leader_epoch:
        return None
    is_its_own = state.epoch == entry.epoch and state.last_sequence >= 0
    return Remembered(entry.landed_up_to(state.last_sequence) if is_its_own else 0, found.end)
