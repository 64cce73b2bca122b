"""One partition on its way: what was queued, sent and acknowledged, and what the ledger shall say.

A lane does no I/O. A reader queues parcels at its back, a sender takes them from its front, and
the entry it writes is true at any moment between the two.

    fetched -> queue -> in flight -> acknowledged -> (source offset, target offset) of the entry
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf

from balancer.plan import TopicPartition
from replicator.batches.batch import header_at
from replicator.batches.parcel import Parcel
from replicator.carrier.lag_clock import LagClock
from replicator.carrier.refusals import Refusal
from replicator.ledger.entry import (
    METADATA_BYTES_MAX,
    OTHER_FIELDS_BYTES_MAX,
    SEQUENCE_MASK,
    Custody,
    Entry,
    Gap,
    Mark,
)
from replicator.ledger.loss import Loss
from replicator.offsets.stretch import Gathering

HALF_CIRCLE = 1 << 30


class AcknowledgedTooLow(Exception):
    """The target put a batch where acknowledged records stood: it has lost some."""


@dataclass(slots=True, eq=False)
class Unit:
    """A parcel with its place in the sequence; resent, it is the same bytes."""

    sequence: int
    parcel: Parcel
    was_sent: bool = False
    base_offset: int | None = None
    """Where it landed in the target; -1 when the broker no longer knows. None: not acknowledged."""
    readable_ms: int | None = None
    """When it could first be read at the source, in unix time; None: not known, or counted."""
    is_in_doubt: bool = False
    """It was sent and may have landed: sent again, it may be a duplicate."""
    refusal: Refusal | None = None
    """The target does not take it as it is."""

    @property
    def next_sequence(self) -> int:
        return (self.sequence + self.parcel.count) & SEQUENCE_MASK


@dataclass(frozen=True, slots=True)
class Statement:
    """An entry to be committed, and what may be sent once it is."""

    entry: Entry
    covered_to: int
    was_idle: bool


class Lane:
    """The state of one partition of a route inside one carrier.

    Args:
        partition: of the source; the same in the target.
        entry: held by this carrier's writer and committed.
    """

    def __init__(self, partition: TopicPartition, entry: Entry):
        self.partition = partition
        self.position = entry.source_offset
        """Source offset to fetch next."""
        self.source_end: int | None = None
        """The source's last stable offset, once a fetch told it: what can be carried ends there."""
        self.source_high = -1
        """The source's high watermark, told with its last stable offset."""
        self.heard_at = 0.0
        """When the two were told, in unix seconds; or told not to have changed."""
        self.clock = LagClock(entry.seen)
        self.source_epoch = entry.source_epoch
        self.gathering = Gathering(entry.source_offset)
        self.is_settling = False
        """Nothing more is fetched: the lane is to be released."""
        self.stopping: Loss | None = None
        """Nothing more is fetched: once what was queued is acknowledged, the lane is parked."""
        self.broken_at = -1
        """Source offset of a batch that came broken; broken again there, it is so in the log."""
        self.is_alone = True
        """A broker without producer state takes ANY first sequence, so until one batch is
        acknowledged the next one waits."""
        self.source_leader = -1
        """Leader epoch of the source under which the position was last checked."""
        self.target_leader = -1
        """Leader epoch of the target under which the mark was last seen in its place."""
        self.sender: int | None = None
        """The target broker to which batches are in flight."""
        self.refused_bytes = inf
        """The smallest batch that the target refused for its size."""
        self.fetch_bytes = 0
        """A batch larger than one fetch takes: how much to ask for."""
        self.queued_bytes = 0
        self.records = self.bytes = self.unopened = self.opened = 0
        """Carried since the lane began, for the receipt."""
        self.began = entry
        self.first_target_offset: int | None = None
        self.last_stated: Entry | None = None
        self._entry = entry
        self._queue: deque[Unit] = deque()
        self._flight: deque[Unit] = deque()
        self._queued_to = entry.source_offset
        self._sequence = entry.sequence
        self._gaps: deque[tuple[int, int]] = deque()  # (sequence behind it, offsets skipped)
        self._covered_to = entry.sequence

    # -- the reader's side

    def add(
        self,
        parcels: Iterable[Parcel],
        position: int,
        source_epoch: int,
        fetched_at: float | None = None,
    ) -> None:
        """Queue what a fetch brought, stamped with the writer's numbers.

        Args:
            position: where to fetch next; behind left-out batches too.
            source_epoch: leader epoch of the last batch read (-1: none was).
            fetched_at: when it came, in unix seconds.
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
            unit = Unit(self._sequence, parcel)
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
        """Drop what was never sent; only what may have landed is still waited for."""
        self.is_settling = True
        while self._queue and not self._queue[-1].was_sent:
            # What stops the lane lies behind what is dropped: whoever reads that again finds it.
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
        """Its next batch lies behind a gap that no committed entry covers."""
        return bool(self._queue) and not self._is_covered

    def is_ready(self, window: int) -> bool:
        """Whether a batch may be sent now, with at most `window` in flight."""
        limit = 1 if self.is_alone else window
        return bool(self._queue) and len(self._flight) < limit and self._is_covered

    @property
    def next_bytes(self) -> int:
        """Size of the batch that `take` would give."""
        return len(self._queue[0].parcel.data)

    def take(self) -> Unit:
        """The next batch, now in flight."""
        unit = self._queue.popleft()
        unit.was_sent = True
        self._flight.append(unit)
        return unit

    def rewind(self) -> None:
        """What is in flight goes back to the front: the same bytes, in the same order. Also what
        was acknowledged behind a batch that was not: it is acknowledged once more."""
        if self._flight:
            for unit in self._flight:
                unit.base_offset = None
            self._queue.extendleft(reversed(self._flight))
            self._flight.clear()
        self.is_alone = True

    def queued(self) -> Sequence[Unit]:
        """Queued batches, in order."""
        return tuple(self._queue)

    def repack(self, replaced: int, parcels: Iterable[Parcel]) -> None:
        """The first `replaced` queued batches become these, with the same records in order.

        Only while none of the replaced may have landed: a writer's sequences never name other
        records than before, but a duplicate is told by the bounds of its batch.
        """
        old = [self._queue.popleft() for _ in range(replaced)]
        sequence, units = old[0].sequence, []
        for parcel in parcels:
            parcel.stamp(
                producer_id=self._entry.producer_id,
                producer_epoch=self._entry.epoch,
                base_sequence=sequence,
            )
            units.append(Unit(sequence, parcel, readable_ms=old[0].readable_ms))
            sequence = units[-1].next_sequence
        self._queue.extendleft(reversed(units))
        self.queued_bytes += sum(len(unit.parcel.data) for unit in units)
        self.queued_bytes -= sum(len(unit.parcel.data) for unit in old)

    def rest(self) -> None:
        """A long silence: the broker may have forgotten the producer, so a batch goes alone."""
        if not self._flight:
            self.is_alone = True

    @property
    def flight_ends_at(self) -> int:
        """Source offset behind what is in flight."""
        last = self._flight[-1].parcel if self._flight else None
        return last.next_offset if last else self._entry.source_offset

    @property
    def newest_in_doubt_ms(self) -> float:
        """Of the oldest batch in flight that may have landed, the newest timestamp; else inf."""
        doubtful = (unit for unit in self._flight if unit.is_in_doubt)
        return min((header_at(unit.parcel.data, 0).max_timestamp for unit in doubtful), default=inf)

    @property
    def oldest_written_ms(self) -> int | None:
        """Timestamp of the oldest batch that is not acknowledged; None: nothing is under way."""
        oldest = self._flight or self._queue
        return header_at(oldest[0].parcel.data, 0).max_timestamp if oldest else None

    def is_head(self, unit: Unit) -> bool:
        """Whether everything before this batch was acknowledged."""
        return bool(self._flight) and self._flight[0] is unit

    def acknowledge(self, unit: Unit, base_offset: int) -> None:
        """Note where a batch landed (-1: landed, the broker no longer knows where).

        Raises:
            AcknowledgedTooLow: the target has lost acknowledged records.
        """
        if 0 <= base_offset < self._entry.target_offset:
            raise AcknowledgedTooLow(f"{base_offset} < {self._entry.target_offset}")
        unit.base_offset = base_offset
        # A batch before it may still be rewound, and this one is sent again with it.
        unit.is_in_doubt = True
        while self._flight and self._flight[0].base_offset is not None:
            done = self._flight.popleft()
            self._land(done, done.base_offset or 0)

    def _land(self, unit: Unit, base_offset: int) -> None:
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
        """What is acknowledged: source and target offset, sequence, mark."""
        return self._entry

    @property
    def checkable(self) -> Entry:
        """The entry with the leader epoch of the last batch read, to check the source with."""
        return self._complete(self._entry)

    # -- the ledger's side

    def statement(self) -> Statement:
        """The entry of this moment, HELD: what is acknowledged, and the gaps read ahead."""
        is_idle = self.is_empty and not self.is_settling
        if is_idle:
            # Nothing is under way: what lies between the last record and the position held none.
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
        """The entry of a clean end; only true when the lane is empty."""
        entry = replace(
            self._entry, custody=Custody.RELEASED, transactional_id=transactional_id, gaps=()
        )
        return self._complete(entry)

    def committed(self, statement: Statement) -> None:
        """The statement is in the ledger: what it covers may be sent."""
        self._covered_to = statement.covered_to
        if statement.was_idle and self.is_empty and self._sequence == statement.covered_to:
            # Nothing came in between: the gap it stepped over is behind.
            self._queued_to = statement.entry.source_offset
            self._entry = replace(self._entry, source_offset=statement.entry.source_offset)

    def moved_up(self, target_offset: int) -> None:
        """Others appended while nothing of ours was under way: what follows lies behind that."""
        if self.is_empty and target_offset > self._entry.target_offset:
            self._entry = replace(self._entry, target_offset=target_offset)

    def _complete(self, entry: Entry) -> Entry:
        return replace(entry, source_epoch=self.source_epoch, seen=self.clock.sightings)

    @property
    def _is_covered(self) -> bool:
        """Every gap not yet acknowledged that stands before the next batch's end is covered."""
        end = self._queue[0].next_sequence
        for sequence, _ in reversed(self._gaps):
            if _is_before(sequence, self._covered_to):
                return True
            if _is_before(sequence, end):
                return False
        return True


def _is_before(sequence: int, other: int) -> bool:
    """sequence < other, in a circle of 2^31."""
    return 0 < ((other - sequence) & SEQUENCE_MASK) < HALF_CIRCLE
