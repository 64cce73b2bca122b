"""Log of one replica: batches, producers, leader epochs and transactions, as a broker keeps them.

Everything but the batches follows from them: a log that is cut is read again from its start.
Source: org.apache.kafka.storage.internals.log (UnifiedLog, ProducerStateManager,
ProducerAppendInfo, LeaderEpochFileCache).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from operator import attrgetter

from replicator.kafka.protocol.error_codes import Code
from tests.world.kafka.log_batch import MAX_SEQUENCE, Batch, Refused, thinned

REMEMBERED_BATCHES = 5
TRANSACTION_COORDINATOR_FENCED = 52


@dataclass(slots=True)
class Producer:
    """Memory of one producer id."""

    epoch: int = -1
    batches: deque[tuple[int, int, int, int]] = field(
        default_factory=lambda: deque(maxlen=REMEMBERED_BATCHES)
    )
    """First and last sequence, base offset and latest time of its last batches."""
    transaction_start: int = -1
    coordinator_epoch: int = -1
    last_timestamp: int = -1

    @property
    def last_sequence(self) -> int:
        return self.batches[-1][1] if self.batches else -1

    def snapshot(self) -> Producer:
        """Returns what a snapshot file keeps: of the batches only the last one."""
        return replace(self, batches=deque(list(self.batches)[-1:], maxlen=REMEMBERED_BATCHES))


@dataclass(frozen=True, slots=True)
class Aborted:
    """An aborted transaction: its producer, first offset, and the offset of its marker."""

    producer_id: int
    first_offset: int
    marker: int


class ReplicaLog:
    """Log of one partition on one broker."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.start = 0
        self.high_watermark = 0
        self.epochs: list[tuple[int, int]] = []
        """Leader epochs with their first offsets."""
        self._snapshot: dict[int, Producer] = {}
        """Producers at the start of the log."""
        self.removed: dict[int, Batch] = {}
        """Batches that retention deleted or compaction thinned, as they were. No broker knows them,
        checks do."""
        self._begin()

    def _begin(self) -> None:
        self.producers = {number: it.snapshot() for number, it in self._snapshot.items()}
        self.aborted: list[Aborted] = []
        self.finished: list[tuple[int, int]] = []
        """First offset and marker of transactions that have ended."""

    @property
    def end(self) -> int:
        return self.batches[-1].end if self.batches else self.start

    @property
    def last_epoch(self) -> int:
        return self.epochs[-1][0] if self.epochs else -1

    @property
    def stable_offset(self) -> int:
        """Last stable offset: below it, the end of every transaction is known and replicated."""
        unstable = [
            p.transaction_start for p in self.producers.values() if p.transaction_start >= 0
        ]
        unstable += [first for first, marker in self.finished if marker >= self.high_watermark]
        return max(self.start, min([self.high_watermark, *unstable]))

    # -- appending

    def begin_epoch(self, epoch: int) -> None:
        """Notes the first offset of an epoch in which this replica leads."""
        if epoch > self.last_epoch:
            self.epochs.append((epoch, self.end))

    def duplicate_of(self, batch: Batch) -> int | None:
        """Returns the base offset at which the batch stands already; None if it does not."""
        memory = self.producers.get(batch.producer_id)
        if memory is None or batch.producer_epoch != memory.epoch or batch.base_sequence < 0:
            return None
        for first, last, base_offset, _ in memory.batches:
            if (first, last) == (batch.base_sequence, batch.last_sequence):
                return base_offset
        return None

    def time_of(self, producer_id: int, base_offset: int) -> int:
        """Returns the latest time of a batch that its producer is remembered by; -1: unknown."""
        memory = self.producers.get(producer_id)
        known = memory.batches if memory else ()
        return next((time for _, _, at, time in known if at == base_offset), -1)

    def check(self, batch: Batch) -> None:
        """Raises Refused for a batch of a producer that is not the one to follow.

        Source: ProducerAppendInfo.checkProducerEpoch, checkSequence, checkCoordinatorEpoch.
        """
        if batch.producer_id < 0:
            return
        memory = self.producers.get(batch.producer_id)
        if memory is None:
            return
        if batch.producer_epoch < memory.epoch:
            raise Refused(Code.INVALID_PRODUCER_EPOCH)
        if batch.is_marker:
            if batch.coordinator_epoch < memory.coordinator_epoch:
                raise Refused(TRANSACTION_COORDINATOR_FENCED)
            return
        if batch.producer_epoch > memory.epoch:
            if batch.base_sequence > 0:
                raise Refused(Code.OUT_OF_ORDER_SEQUENCE_NUMBER)
        elif 0 <= batch.base_sequence != (memory.last_sequence + 1) & MAX_SEQUENCE:
            raise Refused(Code.OUT_OF_ORDER_SEQUENCE_NUMBER)
        if memory.transaction_start >= 0 and not batch.is_transactional:
            raise Refused(Code.INVALID_TXN_STATE)

    def append(self, batch: Batch, leader_epoch: int) -> Batch:
        """Appends a batch as the leader; returns it as it stands in the log."""
        placed = batch.at(self.end, leader_epoch)
        self.copy(placed)
        return placed

    def copy(self, batch: Batch) -> None:
        """Appends a batch as it stands in the leader's log."""
        self.batches.append(batch)
        self._remember(batch)

    def _remember(self, batch: Batch) -> None:
        if batch.leader_epoch > self.last_epoch:
            self.epochs.append((batch.leader_epoch, batch.base_offset))
        if batch.producer_id < 0:
            return
        memory = self.producers.setdefault(batch.producer_id, Producer())
        if batch.producer_epoch > memory.epoch:
            memory.epoch = batch.producer_epoch
            memory.batches.clear()
        # The time of the last batch counts, also when it is older than that of one before.
        memory.last_timestamp = batch.max_timestamp
        if batch.is_marker:
            first, memory.transaction_start = memory.transaction_start, -1
            memory.coordinator_epoch = batch.coordinator_epoch
            if first >= 0:
                self.finished.append((first, batch.base_offset))
                if not batch.is_commit:
                    self.aborted.append(Aborted(batch.producer_id, first, batch.base_offset))
            return
        if batch.base_sequence >= 0:
            memory.batches.append(
                (batch.base_sequence, batch.last_sequence, batch.base_offset, batch.max_timestamp)
            )
        if batch.is_transactional and memory.transaction_start < 0:
            memory.transaction_start = batch.base_offset

    # -- changes of the whole log

    def truncate(self, offset: int) -> None:
        """Removes all that stands at or after an offset (UnifiedLog.truncateTo)."""
        if offset >= self.end:
            return
        kept = [it for it in self.batches if it.end <= offset]
        self.epochs = [(epoch, first) for epoch, first in self.epochs if first < offset]
        self.removed = {at: it for at, it in self.removed.items() if at < offset}
        self._read_again(kept)
        # A batch around the offset goes as a whole.
        self.high_watermark = min(self.high_watermark, self.end)

    def start_at(self, offset: int) -> None:
        """Begins anew at an offset, as a follower whose leader has deleted what would follow.

        No producer is known then, and no leader epoch.
        """
        self.start = self.high_watermark = offset
        self.epochs, self._snapshot = [], {}
        self._read_again([])

    def delete_before(self, offset: int) -> None:
        """Removes whole batches before an offset, as retention does; producers stay known.

        What was deleted is known from a snapshot when the log is read again. Source:
        UnifiedLog.maybeIncrementLogStartOffset, LeaderEpochFileCache.truncateFromStart.
        """
        offset = max(self.start, min(offset, self.high_watermark))
        gone = [it for it in self.batches if it.end <= offset]
        self._snapshot = _after(self._snapshot, gone)
        self.start = offset
        self.batches = self.batches[len(gone) :]
        self._note_removed(gone)
        later = [(epoch, first) for epoch, first in self.epochs if first >= offset]
        earlier = [epoch for epoch, first in self.epochs if first < offset]
        is_begun = bool(later) and later[0][1] == offset
        self.epochs = later if is_begun or not earlier else [(earlier[-1], offset), *later]

    def compact(self, begin: int, end: int, keeps: Callable[[int], bool]) -> None:
        """Removes records of committed batches, as compaction does (Cleaner.cleanInto).

        Args:
            begin, end: offsets between which whole batches are cleaned.
            keeps: decides about the record at an offset.
        """
        end = min(end, self.high_watermark)
        last = {it.batches[-1][2] for it in self.producers.values() if it.batches}
        # The last segment is not cleaned, so the end of the log stays.
        last |= {it.base_offset for it in self.batches[-1:]}
        cleaned: list[Batch] = []
        for batch in self.batches:
            if begin <= batch.base_offset and batch.end <= end and not batch.is_marker:
                # A producer's last batch stays: it keeps the sequence.
                thin = thinned(batch, keeps, stays=batch.base_offset in last)
                if thin is not batch:
                    self._note_removed([batch])
                cleaned += [thin] if thin else []
            else:
                cleaned.append(batch)
        self.batches = cleaned

    def _note_removed(self, batches: Iterable[Batch]) -> None:
        for batch in batches:
            self.removed.setdefault(batch.base_offset, batch)

    @property
    def everything(self) -> list[Batch]:
        """All batches that ever stood in this log and were not cut off, as they were."""
        found = {it.base_offset: it for it in self.batches} | self.removed
        return [found[at] for at in sorted(found)]

    def forget_producers(self, before_ms: float) -> None:
        """Forgets producers whose last records are older, and that have no open transaction."""
        self.producers = {
            producer_id: it
            for producer_id, it in self.producers.items()
            if it.transaction_start >= 0 or it.last_timestamp > before_ms
        }

    def restart(self, forget_before_ms: float, checkpoint: int) -> None:
        """Knows what a broker knows that was stopped in order and starts again: of each producer
        the last batch, of the high watermark what was noted last."""
        self.producers = {number: it.snapshot() for number, it in self.producers.items()}
        self.forget_producers(forget_before_ms)
        self.high_watermark = max(self.start, min(self.high_watermark, checkpoint))

    def _read_again(self, batches: list[Batch]) -> None:
        self.batches = batches
        self._begin()
        for batch in batches:
            self._remember(batch)

    # -- reading

    def from_offset(self, offset: int, limit: int) -> Iterator[Batch]:
        """Returns the batches from the one with `offset` on that lie below `limit`."""
        at = bisect_right(self.batches, offset, key=attrgetter("end"))
        for batch in self.batches[at:]:
            if batch.base_offset >= limit:
                return
            yield batch

    def epoch_end(self, epoch: int) -> tuple[int, int]:
        """Returns the largest known epoch up to `epoch`, and its end offset; (-1, -1): unknown."""
        if epoch < 0:
            return -1, -1
        if epoch >= self.last_epoch:
            return (self.last_epoch, self.end) if epoch == self.last_epoch else (-1, -1)
        if not self.epochs:
            return -1, -1
        older = [at for at, (one, _) in enumerate(self.epochs) if one <= epoch]
        if not older:
            return epoch, self.epochs[0][1]
        return self.epochs[older[-1]][0], self.epochs[older[-1] + 1][1]

    def aborted_between(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Returns the aborted transactions that overlap with offsets, by producer and begin."""
        return [
            (it.producer_id, it.first_offset)
            for it in self.aborted
            if it.first_offset < end and it.marker >= begin
        ]


def _after(producers: dict[int, Producer], batches: list[Batch]) -> dict[int, Producer]:
    """Returns the producers that are known once these batches follow."""
    log = ReplicaLog()
    log.producers = {number: it.snapshot() for number, it in producers.items()}
    for batch in batches:
        log.copy(batch)
    return {number: it.snapshot() for number, it in log.producers.items()}
