"""Partition pipeline: queued, sent and acknowledged batches of one partition, and its ledger entry.

A pipeline does no I/O. The reader appends outgoing batches, a sender takes them from the front. The
entry that follows from the acknowledged batches is valid at every moment in between.

    fetched -> queue -> in flight -> acknowledged -> (source offset, target offset) of the entry
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf

from balancer.plan import TopicPartition
from replicator.batches.batch import header_at
from replicator.batches.outgoing_batch import OutgoingBatch
from replicator.mirror.carrier.lag_clock import LagClock
from replicator.mirror.carrier.refusals import Refusal
from replicator.mirror.ledger.entry import (
    METADATA_BYTES_MAX,
    OTHER_FIELDS_BYTES_MAX,
    SEQUENCE_MASK,
    Custody,
    Entry,
    Gap,
    Mark,
)
from replicator.mirror.ledger.loss import Loss
from replicator.mirror.offset_map.run_segment import RunBuffer

HALF_CIRCLE = 1 << 30


class AcknowledgedTooLow(Exception):
    """The target appended a batch below acknowledged records: it has lost some of them."""


@dataclass(slots=True, eq=False)
class InFlightBatch:
    """An outgoing batch with its first sequence; sent again, it has the same bytes."""

    sequence: int
    parcel: OutgoingBatch
    was_sent: bool = False
    base_offset: int | None = None
    """Target offset of the first record; None until acknowledged, -1 if the broker forgot it."""
    readable_ms: int | None = None
    """Unix milliseconds at which the batch became readable; None if unknown or already counted."""
    is_in_doubt: bool = False
    """True if the batch was sent and may have landed: sent again, it may be a duplicate."""
    refusal: Refusal | None = None
    """Answer of a target that does not take the batch as it is."""

    @property
    def next_sequence(self) -> int:
        return (self.sequence + self.parcel.count) & SEQUENCE_MASK


@dataclass(frozen=True, slots=True)
class Statement:
    """An entry to be committed.

    Args:
        covered_to: sequence; every gap before it is covered once the entry is committed.
        was_idle: True if the pipeline had nothing under way.
    """

    entry: Entry
    covered_to: int
    was_idle: bool


class PartitionPipeline:
    """State of one partition of a route inside one carrier.

    Args:
        partition: of the source; the target partition has the same name and number.
        entry: committed, and held by this carrier.
    """

    def __init__(self, partition: TopicPartition, entry: Entry):
        self.partition = partition
        self.position = entry.source_offset
        """Source offset to fetch next."""
        self.source_end: int | None = None
        """Last stable offset of the source, which limits reading; None before the first fetch."""
        self.source_high = -1
        """High watermark of the source, reported with the last stable offset."""
        self.heard_at = 0.0
        """Unix seconds at which a fetch response last reported or confirmed the two offsets."""
        self.clock = LagClock(entry.seen)
        self.source_epoch = entry.source_epoch
        self.gathering = RunBuffer(entry.source_offset)
        self.is_settling = False
        """True once fetching has ended because the pipeline is to be released."""
        self.stopping: Loss | None = None
        """Loss that ended fetching; the pipeline is parked once its queue is acknowledged."""
        self.broken_at = -1
        """Position at which the last broken batch was found. A second one at the same position
        proves that the log itself is damaged."""
        self.is_alone = True
        """True until a batch is acknowledged; until then only one is in flight. A broker without
        producer state accepts any first sequence, so it would accept a later batch first."""
        self.source_leader = -1
        """Leader epoch of the source under which the position was last checked; -1: not checked."""
        self.target_leader = -1
        """Leader epoch of the target under which the mark was last verified; -1: not checked."""
        self.sender: int | None = None
        """Target broker to which batches are in flight."""
        self.refused_bytes = inf
        """Size of the smallest batch that the target refused for its size."""
        self.fetch_bytes = 0
        """Fetch size that the next batch needs, if it exceeds the configured one; else 0."""
        self.queued_bytes = 0
        self.records = self.bytes = self.unopened = self.opened = 0
        """Totals since the pipeline began, for the receipt."""
        self.began = entry
        self.first_target_offset: int | None = None
        self.last_stated: Entry | None = None
        self._entry = entry
        self._queue: deque[InFlightBatch] = deque()
        self._flight: deque[InFlightBatch] = deque()
        self._queued_to = entry.source_offset
        self._sequence = entry.sequence
        # (first sequence behind the gap, source offsets skipped)
        self._gaps: deque[tuple[int, int]] = deque()
        self._covered_to = entry.sequence

    # -- the reader's side

    def add(
        self,
        parcels: Iterable[OutgoingBatch],
        position: int,
        source_epoch: int,
        fetched_at: float | None = None,
    ) -> None:
        """Queues the batches of a fetch, stamped with producer id, epoch and sequences.

        Args:
            position: source offset to fetch next; lies behind batches that were left out, too.
            source_epoch: leader epoch of the last batch read; -1 if none was read.
            fetched_at: time of the fetch, in unix seconds.
        """
        for parcel in parcels:
            sequence = self._sequence
            for offset, count in parcel.spans:
                if offset != self._queued_to:
                    self._gaps.append((sequence, offset - self._queued_to))
                sequence = (sequence + count) & SEQUENCE_MASK
                self._queued_to = offset + count
            parcel.stamp(
                producer_id=self._entry.producer_id,
                producer_epoch=self._entry.epoch,
                base_sequence=self._sequence,
            )
            unit = InFlightBatch(self._sequence, parcel)
            if fetched_at is not None:
                unit.readable_ms = self.clock.readable_ms(
                    fetched_at, parcel.first_offset, header_at(parcel.data, 0).max_timestamp
                )
            self._queue.append(unit)
            self._sequence = sequence
            self.queued_bytes += len(parcel.data)
        self.position = position
        if source_epoch >= 0:
            self.source_epoch = source_epoch

    def settle(self) -> None:
        """Ends fetching and drops batches that were never sent; those that may have landed stay."""
        self.is_settling = True
        while self._queue and not self._queue[-1].was_sent:
            # The loss lies behind the dropped batches: the next carrier reads them and finds it.
            self.stopping = None
            unit = self._queue.pop()
            self._sequence = unit.sequence
            self.queued_bytes -= len(unit.parcel.data)
        while self._gaps and not _is_before(self._gaps[-1][0], self._sequence):
            self._gaps.pop()

    # -- the sender's side

    @property
    def is_empty(self) -> bool:
        return not self._queue and not self._flight

    @property
    def has_queued(self) -> bool:
        return bool(self._queue)

    @property
    def in_flight(self) -> int:
        return len(self._flight)

    @property
    def waits_for_cover(self) -> bool:
        """True if the next batch lies behind a gap that no committed entry covers."""
        return bool(self._queue) and not self._is_covered

    def is_ready(self, window: int) -> bool:
        """Returns True when a batch may be sent now, with at most `window` in flight."""
        limit = 1 if self.is_alone else window
        return bool(self._queue) and len(self._flight) < limit and self._is_covered

    @property
    def next_bytes(self) -> int:
        """Size in bytes of the batch that `take` would return."""
        return len(self._queue[0].parcel.data)

    def take(self) -> InFlightBatch:
        """Returns the next batch, now in flight."""
        unit = self._queue.popleft()
        unit.was_sent = True
        self._flight.append(unit)
        return unit

    def rewind(self) -> None:
        """Puts the batches in flight back to the front: the same bytes, in the same order.

        A batch that was acknowledged behind an unacknowledged one is sent and acknowledged again.
        """
        if self._flight:
            for unit in self._flight:
                unit.base_offset = None
            self._queue.extendleft(reversed(self._flight))
            self._flight.clear()
        self.is_alone = True

    def queued(self) -> Sequence[InFlightBatch]:
        """Returns the queued batches, in order."""
        return tuple(self._queue)

    def repack(self, replaced: int, parcels: Iterable[OutgoingBatch]) -> None:
        """Replaces the first `replaced` queued batches by others with the same records in order.

        Allowed only while none of the replaced batches may have landed. Every record keeps its
        sequence, but the broker detects a duplicate by the first and last sequence of a batch.
        """
        old = [self._queue.popleft() for _ in range(replaced)]
        sequence, units = old[0].sequence, []
        for parcel in parcels:
            parcel.stamp(
                producer_id=self._entry.producer_id,
                producer_epoch=self._entry.epoch,
                base_sequence=sequence,
            )
            units.append(InFlightBatch(sequence, parcel, readable_ms=old[0].readable_ms))
            sequence = units[-1].next_sequence
        self._queue.extendleft(reversed(units))
        self.queued_bytes += sum(len(unit.parcel.data) for unit in units)
        self.queued_bytes -= sum(len(unit.parcel.data) for unit in old)

    def rest(self) -> None:
        """Notes a long silence: the broker may have forgotten the producer, so a batch goes
        alone."""
        if not self._flight:
            self.is_alone = True

    @property
    def flight_ends_at(self) -> int:
        """Source offset behind the batches in flight."""
        last = self._flight[-1].parcel if self._flight else None
        return last.next_offset if last else self._entry.source_offset

    @property
    def newest_in_doubt_ms(self) -> float:
        """Smallest max_timestamp of the in-flight batches that may have landed; inf without any."""
        doubtful = (unit for unit in self._flight if unit.is_in_doubt)
        return min((header_at(unit.parcel.data, 0).max_timestamp for unit in doubtful), default=inf)

    @property
    def oldest_written_ms(self) -> int | None:
        """max_timestamp of the oldest unacknowledged batch; None if nothing is under way."""
        oldest = self._flight or self._queue
        return header_at(oldest[0].parcel.data, 0).max_timestamp if oldest else None

    def is_head(self, unit: InFlightBatch) -> bool:
        """Returns True when every batch before this one is acknowledged."""
        return bool(self._flight) and self._flight[0] is unit

    def acknowledge(self, unit: InFlightBatch, base_offset: int) -> None:
        """Notes where a batch landed, and advances the entry over the acknowledged front.

        Args:
            base_offset: target offset of the first record; -1 if it landed at an unknown offset.
        Raises:
            AcknowledgedTooLow: the target has lost acknowledged records.
        """
        if 0 <= base_offset < self._entry.target_offset:
            raise AcknowledgedTooLow(f"{base_offset} < {self._entry.target_offset}")
        unit.base_offset = base_offset
        # A rewind for an earlier batch would send this one again.
        unit.is_in_doubt = True
        while self._flight and self._flight[0].base_offset is not None:
            done = self._flight.popleft()
            self._land(done, done.base_offset or 0)

    def _land(self, unit: InFlightBatch, base_offset: int) -> None:
        parcel = unit.parcel
        self.is_alone = False
        changes: dict[str, object] = {
            "source_offset": parcel.next_offset,
            "sequence": unit.next_sequence,
        }
        if base_offset >= 0:
            end = base_offset + parcel.count
            if self.first_target_offset is None:
                self.first_target_offset = base_offset
            last = (unit.next_sequence - 1) & SEQUENCE_MASK
            entry = self._entry
            changes |= {
                "target_offset": end,
                "mark": Mark(end - 1, entry.producer_id, entry.epoch, last),
            }
            self.gathering.land_all(base_offset, parcel.spans)
        self._entry = replace(self._entry, **changes)  # type: ignore[arg-type]
        while self._gaps and _is_before(self._gaps[0][0], self._entry.sequence):
            self._gaps.popleft()
        self.queued_bytes -= len(parcel.data)
        self.records += parcel.count
        self.bytes += len(parcel.data)
        if parcel.opened:
            self.opened += 1
        else:
            self.unopened += 1

    @property
    def entry(self) -> Entry:
        """Acknowledged state: source and target offset, sequence, mark."""
        return self._entry

    @property
    def checkable(self) -> Entry:
        """Entry with the leader epoch of the last batch read, for the check of the source's log."""
        return self._complete(self._entry)

    # -- the ledger's side

    def statement(self) -> Statement:
        """Returns the current entry, HELD: the acknowledged state, and the gaps read ahead.

        As many gaps are listed as fit into the metadata of an entry.
        """
        is_idle = self.is_empty and not self.is_settling
        if is_idle:
            # Nothing is under way: there are no records between the last one carried and the
            # position.
            self.gathering.pass_over(self.position)
            entry = replace(self._entry, source_offset=self.position, gaps=())
            return Statement(self._complete(entry), self._sequence, True)
        gaps: list[Gap] = []
        size, last, covered_to = 0, self._entry.sequence, self._sequence
        for sequence, skipped in self._gaps:
            gap = Gap((sequence - last) & SEQUENCE_MASK, skipped)
            size += len(f"{gap.records},{gap.skipped},")
            if size > METADATA_BYTES_MAX - OTHER_FIELDS_BYTES_MAX:
                covered_to = sequence
                break
            gaps.append(gap)
            last = sequence
        return Statement(self._complete(replace(self._entry, gaps=tuple(gaps))), covered_to, False)

    def released(self, transactional_id: str) -> Entry:
        """Returns the RELEASED entry; valid only while the pipeline is empty."""
        entry = replace(
            self._entry, custody=Custody.RELEASED, transactional_id=transactional_id, gaps=()
        )
        return self._complete(entry)

    def committed(self, statement: Statement) -> None:
        """Notes that the statement is in the ledger: batches behind its gaps may be sent."""
        self._covered_to = statement.covered_to
        if statement.was_idle and self.is_empty and self._sequence == statement.covered_to:
            # Nothing was queued in between: the entry has stepped over the gap before the position.
            self._queued_to = statement.entry.source_offset
            self._entry = replace(self._entry, source_offset=statement.entry.source_offset)

    def moved_up(self, target_offset: int) -> None:
        """Raises the target offset of an empty pipeline to the target's log end.

        Others appended there meanwhile; our next records land behind that.
        """
        if self.is_empty and target_offset > self._entry.target_offset:
            self._entry = replace(self._entry, target_offset=target_offset)

    def _complete(self, entry: Entry) -> Entry:
        return replace(entry, source_epoch=self.source_epoch, seen=self.clock.sightings)

    @property
    def _is_covered(self) -> bool:
        """True if no uncovered gap lies before the end of the next batch."""
        end = self._queue[0].next_sequence
        for sequence, _ in reversed(self._gaps):
            if _is_before(sequence, self._covered_to):
                return True
            if _is_before(sequence, end):
                return False
        return True


def _is_before(sequence: int, other: int) -> bool:
    """Returns True when `sequence` precedes `other` on the circle of 2^31 sequences."""
    return 0 < ((other - sequence) & SEQUENCE_MASK) < HALF_CIRCLE
