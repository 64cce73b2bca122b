"""Log of one replica: batches, producers, leader epochs and transactions, as a broker keeps them.

Everything but the batches follows from them: a log that is cut is read again from its start.
Source: org.apache.kafka.storage.internals.log (UnifiedLog, ProducerStateManager,
ProducerAppendInfo, LeaderEpochFileCache).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from crc32c import crc32c

from replicator.batches.batch import CRC_FROM
from replicator.kafka.protocol.error_codes import Code
from tests.replicator.batches.source_batches import control, with_crc

_HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = _HEADER.size
PRODUCER_EPOCH_AT, BASE_SEQUENCE_AT = 51, 53
TRANSACTIONAL, CONTROL = 0x10, 0x20
MAX_SEQUENCE = 0x7FFFFFFF
REMEMBERED_BATCHES = 5
TRANSACTION_COORDINATOR_FENCED = 52


class Refused(Exception):
    """A broker refuses a request for one partition."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = int(code)


@dataclass(frozen=True, slots=True)
class Batch:
    """Batch in a log, or on its way into one.

    Args:
        data: bytes as a client fetches them; offset and leader epoch are those in the log.
        base_sequence: -1 without a producer, and in markers.
        is_commit: of a marker; None in a batch of records.
        coordinator_epoch: of a marker.
        value: content of an internal topic's batch, instead of bytes.
    """

    base_offset: int
    count: int
    leader_epoch: int
    data: bytes = b""
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    is_commit: bool | None = None
    coordinator_epoch: int = -1
    max_timestamp: int = -1
    value: Any = None

    @property
    def end(self) -> int:
        return self.base_offset + self.count

    @property
    def last_sequence(self) -> int:
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.count - 1) & MAX_SEQUENCE

    @property
    def is_marker(self) -> bool:
        return self.is_commit is not None

    def at(self, base_offset: int, leader_epoch: int) -> Batch:
        """Returns the batch as it stands in the log at an offset."""
        data = self.data
        if data:
            size = len(data) - 12
            data = struct.pack(">qii", base_offset, size, leader_epoch) + data[16:]
        return replace(self, base_offset=base_offset, leader_epoch=leader_epoch, data=data)


def batch_of(data: bytes) -> Batch:
    """Returns a batch as a producer sends it; raises Refused for one that is cut or malformed."""
    if len(data) < HEADER_BYTES:
        raise Refused(Code.CORRUPT_MESSAGE)
    _, size, _, magic, checksum, attributes, last_delta, _, latest, pid, epoch, sequence, _ = (
        _HEADER.unpack_from(data)
    )
    is_whole = magic == 2 and size + 12 == len(data)
    if not is_whole or crc32c(data[CRC_FROM:]) != checksum:
        raise Refused(Code.CORRUPT_MESSAGE)
    return Batch(
        base_offset=0,
        count=last_delta + 1,
        leader_epoch=-1,
        data=bytes(data),
        producer_id=pid,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=bool(attributes & TRANSACTIONAL),
        max_timestamp=latest,
    )


def marker_of(producer_id: int, epoch: int, *, is_commit: bool, coordinator_epoch: int) -> Batch:
    """Returns the marker that ends a producer's transaction in a partition."""
    data = bytearray(control(0, producer_id, 1 if is_commit else 0))
    struct.pack_into(">h", data, PRODUCER_EPOCH_AT, epoch)
    return Batch(
        base_offset=0,
        count=1,
        leader_epoch=-1,
        data=bytes(with_crc(data)),
        producer_id=producer_id,
        producer_epoch=epoch,
        is_transactional=True,
        is_commit=is_commit,
        coordinator_epoch=coordinator_epoch,
    )


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
        self._begin()

    def _begin(self) -> None:
        self.producers: dict[int, Producer] = {}
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
        return min([self.high_watermark, *unstable])

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

    def check(self, batch: Batch) -> None:
        """Raises Refused for a batch of a producer that is not the one to follow."""
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
        memory.last_timestamp = max(memory.last_timestamp, batch.max_timestamp)
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
        """Removes all that stands at or after an offset."""
        if offset >= self.end:
            return
        kept = [it for it in self.batches if it.end <= offset]
        self.high_watermark = min(self.high_watermark, offset)
        self.epochs = [(epoch, first) for epoch, first in self.epochs if first < offset]
        self._read_again(kept)

    def delete_before(self, offset: int) -> None:
        """Removes whole batches before an offset, as retention does; producers stay known."""
        self.start = max(self.start, min(offset, self.high_watermark))
        self.batches = [it for it in self.batches if it.end > self.start]
        if not self.batches:
            self.start = max(self.start, self.end)

    def forget_producers(self, before_ms: float) -> None:
        """Forgets producers whose last records are older, and that have no open transaction."""
        self.producers = {
            producer_id: it
            for producer_id, it in self.producers.items()
            if it.transaction_start >= 0 or it.last_timestamp >= before_ms
        }

    def _read_again(self, batches: list[Batch]) -> None:
        self.batches = batches
        self._begin()
        for batch in batches:
            self._remember(batch)

    # -- reading

    def from_offset(self, offset: int, limit: int) -> Iterator[Batch]:
        """Returns the batches from the one with `offset` on that lie below `limit`."""
        at = bisect_right(self.batches, offset, key=lambda it: it.end)
        for batch in self.batches[at:]:
            if batch.base_offset >= limit:
                return
            yield batch

    def epoch_end(self, epoch: int) -> tuple[int, int]:
        """Returns the largest known epoch up to `epoch`, and its end offset; (-1, -1): unknown."""
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
