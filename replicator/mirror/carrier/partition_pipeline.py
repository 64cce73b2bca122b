"""Partition pipeline: queued, sent and acknowledged batches of one partition, and its ledger entry.

A pipeline does no I/O. The reader appends outgoing batches, a sender takes them from the front. The
entry that follows from the acknowledged batches is valid at every moment in between.

    fetched -> queue -> in flight -> acknowledged -> (source offset, target offset) of the entry
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf
from uuid import UUID

from balancer.topic_partition import TopicPartition
from replicator.batches.outgoing_batch import OutgoingBatch
from replicator.kafka.client.loss import Loss
from replicator.mirror.carrier.lag_clock import LagClock
from replicator.mirror.carrier.send_queue import SendQueue
from replicator.mirror.carrier.sequenced_batch import SequencedBatch
from replicator.mirror.carrier.source_gaps import SourceGaps
from replicator.mirror.ledger.entry import SEQUENCE_MASK, Custody, Entry, Mark
from replicator.mirror.offset_map.run_segment import RunBuffer


class AcknowledgedTooLow(Exception):
    """The target appended a batch below acknowledged records: it has lost some of them."""


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
        self.reported_at = 0.0
        """Unix seconds at which a fetch response last reported or confirmed the two offsets."""
        self.clock = LagClock(entry.seen)
        self.sealed_end = 0
        """Nothing is read again behind the position."""
        self.batch_epoch = entry.source_epoch
        """Leader epoch of the last source batch read; -1: none yet."""
        self.queue = SendQueue()
        self.gaps = SourceGaps(entry.sequence)
        self.run_buffer = RunBuffer(entry.source_offset)
        """Runs that have landed and are not published yet."""
        self.is_settling = False
        """True once fetching has ended because the pipeline is to be released."""
        self.loss_to_park: Loss | None = None
        """Loss that ended fetching; the pipeline is parked once its queue is acknowledged."""
        self.is_parking = False
        """True once the pipeline is being parked: its loss names all batches that may have landed,
        so no other one is sent."""
        self.broken_at = -1
        """Position at which the last broken batch was found. A second one at the same position
        proves that the log itself is damaged."""
        self.is_alone = True
        """True at first, after a rewind and after a long silence, until a batch is acknowledged.
        Until then only one is in flight: a broker without producer state accepts any first
        sequence, so it would accept a later batch first."""
        self.leader_epoch = -1
        """Leader epoch of the source under which the position was last checked; -1: not checked."""
        self.target_leader = -1
        """Leader epoch of the target under which the mark was last verified; -1: not checked."""
        self.sender: int | None = None
        """Target broker to which batches are in flight."""
        self.refused = ""
        """Answer with which the target last refused a batch for now; "" once it takes one."""
        self.refused_bytes = inf
        """Size of the smallest batch that the target refused for its size."""
        self.fetch_bytes = 0
        """Fetch size that the next batch needs, if it exceeds the configured one; else 0."""
        self.records = self.bytes = self.unopened = self.opened = 0
        """Totals since the pipeline began, for the receipt."""
        self.began = entry
        self.first_target_offset: int | None = None
        self.last_stated: Entry | None = None
        self._entry = entry
        self._queued_to = entry.source_offset
        self._sequence = entry.sequence
        self._named_epoch = entry.source_epoch
        """Newest leader epoch of the source that an entry names, or for which batches wait."""

    # -- the reader's side

    @property
    def topic_id(self) -> UUID | None:
        """Id of the source topic; a pipeline begins with it in its entry."""
        return self._entry.source_topic

    @property
    def buffered_bytes(self) -> int:
        return self.queue.size_bytes

    @property
    def is_fetching(self) -> bool:
        """True while records are fetched: until the pipeline settles, or a loss stops it."""
        return not self.is_settling and self.loss_to_park is None

    def add(
        self,
        batches: Iterable[OutgoingBatch],
        position: int,
        source_epoch: int,
        fetched_at: float | None = None,
    ) -> None:
        """Queues the batches of a fetch, stamped with producer id, epoch and sequences.

        Batches of a newer leader epoch wait for an entry that names it, as behind a gap. Otherwise
        a takeover would compare what landed with the end of the older epoch, as if it were cut.

        Args:
            position: source offset to fetch next; lies behind batches that were left out, too.
            source_epoch: leader epoch of the last batch read; -1 if none was read.
            fetched_at: time of the fetch, in unix seconds.
        """
        is_newer = source_epoch > self._named_epoch >= 0
        for outgoing in batches:
            sequence = self._sequence
            for offset, count in outgoing.spans:
                if offset != self._queued_to or is_newer:
                    self.gaps.add(sequence, offset - self._queued_to)
                if is_newer:
                    self._named_epoch, is_newer = source_epoch, False
                sequence = (sequence + count) & SEQUENCE_MASK
                self._queued_to = offset + count
            batch = self._stamped(outgoing, self._sequence)
            if fetched_at is not None:
                batch.readable_ms = self.clock.readable_ms(
                    fetched_at, outgoing.first_offset, batch.max_timestamp_ms
                )
            self.queue.append(batch)
            self._sequence = sequence
        self.position = position
        if source_epoch >= 0:
            self.batch_epoch = source_epoch

    def settle(self) -> None:
        """Ends fetching and drops batches that were never sent; those that may have landed stay."""
        self.is_settling = True
        dropped = self.queue.drop_unsent()
        if dropped is not None:
            # The loss lies behind the dropped batches: the next carrier reads them and finds it.
            self.loss_to_park = None
            self._sequence = dropped
        self.gaps.drop_from(self._sequence)

    # -- the sender's side

    @property
    def is_empty(self) -> bool:
        return self.queue.is_empty

    @property
    def waits_for_cover(self) -> bool:
        """True if the next batch lies behind a gap that no committed entry covers."""
        head = self.queue.head
        return head is not None and not self.gaps.are_covered(head.next_sequence)

    def is_ready(self, window: int) -> bool:
        """Returns True when a batch may be sent now, with at most `window` in flight."""
        limit = 1 if self.is_alone else window
        head = self.queue.head
        return (
            head is not None
            and not self.is_parking
            and self.queue.in_flight < limit
            and self.gaps.are_covered(head.next_sequence)
        )

    def take(self) -> SequencedBatch:
        """Returns the next batch, now in flight."""
        return self.queue.take()

    def rewind(self) -> None:
        """Puts the batches in flight back to the front: the same bytes, in the same order."""
        self.queue.rewind()
        self.is_alone = True

    def repack(self, replaced: int, batches: Iterable[OutgoingBatch]) -> None:
        """Replaces the first `replaced` queued batches by others with the same records in order.

        Allowed only while none of the replaced batches may have landed. Every record keeps its
        sequence, but the broker detects a duplicate by the first and last sequence of a batch.
        """
        first = self.queue.queued()[0]
        sequence, repacked = first.sequence, []
        for outgoing in batches:
            batch = self._stamped(outgoing, sequence)
            batch.readable_ms = first.readable_ms
            repacked.append(batch)
            sequence = batch.next_sequence
        self.queue.replace_first(replaced, repacked)

    def note_silence(self) -> None:
        """Notes a long silence: the broker may have forgotten the producer, so the next batch is
        sent alone."""
        if not self.queue.in_flight:
            self.is_alone = True

    @property
    def sent_end(self) -> int:
        """Source offset behind all batches that may have landed."""
        last = self.queue.last_sent
        return last.outgoing.next_offset if last else self._entry.source_offset

    def acknowledge(self, batch: SequencedBatch, base_offset: int) -> None:
        """Notes where a batch landed, and advances the entry over the acknowledged front.

        Args:
            base_offset: target offset of the first record; -1 if it landed at an unknown offset.
        Raises:
            AcknowledgedTooLow: the target has lost acknowledged records.
        """
        if 0 <= base_offset < self._entry.target_offset:
            raise AcknowledgedTooLow(f"{base_offset} < {self._entry.target_offset}")
        batch.base_offset = base_offset
        # If an earlier batch is rewound, this one is sent again although it has landed. So it
        # counts as possibly landed.
        batch.is_in_doubt = True
        while landed := self.queue.pop_acknowledged():
            self._land(landed, landed.base_offset or 0)

    def _land(self, batch: SequencedBatch, base_offset: int) -> None:
        outgoing = batch.outgoing
        self.is_alone = False
        self.refused = ""
        changes: dict[str, object] = {
            "source_offset": outgoing.next_offset,
            "sequence": batch.next_sequence,
        }
        if base_offset >= 0:
            end = base_offset + outgoing.count
            if self.first_target_offset is None:
                self.first_target_offset = base_offset
            last = (batch.next_sequence - 1) & SEQUENCE_MASK
            entry = self._entry
            changes |= {
                "target_offset": end,
                "mark": Mark(end - 1, entry.producer_id, entry.epoch, last),
            }
            self.run_buffer.land_all(base_offset, outgoing.spans)
        self._entry = replace(self._entry, **changes)  # type: ignore[arg-type]
        self.gaps.drop_before(self._entry.sequence)
        self.records += outgoing.count
        self.bytes += len(outgoing.data)
        if outgoing.opened:
            self.opened += 1
        else:
            self.unopened += 1

    @property
    def entry(self) -> Entry:
        """Acknowledged state: source and target offset, sequence, mark."""
        return self._entry

    # -- the ledger's side

    def statement(self) -> Statement:
        """Returns the current entry, HELD: the acknowledged state, and the gaps read ahead.

        As many gaps are listed as fit into the metadata of an entry.
        """
        is_idle = self.is_empty and not self.is_settling
        if is_idle:
            # Nothing is under way: there are no records between the last one carried and the
            # position.
            self.run_buffer.pass_over(self.position)
            entry = replace(self._entry, source_offset=self.position, gaps=())
            return Statement(self._complete(entry), self._sequence, True)
        gaps, covered_to = self.gaps.listed(self._entry.sequence, self._sequence)
        return Statement(self._complete(replace(self._entry, gaps=gaps)), covered_to, False)

    def released(self, transactional_id: str) -> Entry:
        """Returns the RELEASED entry; valid only while the pipeline is empty."""
        entry = replace(
            self._entry, custody=Custody.RELEASED, transactional_id=transactional_id, gaps=()
        )
        return self._complete(entry)

    def committed(self, statement: Statement) -> None:
        """Notes that the statement is in the ledger: batches behind its gaps may be sent."""
        self.gaps.covered_to = statement.covered_to
        self._named_epoch = max(self._named_epoch, statement.entry.source_epoch)
        if statement.was_idle and self._entry.sequence == statement.covered_to:
            self._step_over(statement.entry.source_offset)

    def _step_over(self, source_offset: int) -> None:
        """Advances the entry over offsets without a record, as the ledger already has it.

        What was queued while the entry was committed begins behind them, so its gap becomes
        shorter. Otherwise the next entry would name the lower source offset again.
        """
        self.gaps.shorten(self._entry.sequence, source_offset - self._entry.source_offset)
        self._queued_to = max(self._queued_to, source_offset)
        self._entry = replace(self._entry, source_offset=source_offset)

    def moved_up(self, target_offset: int) -> None:
        """Raises the target offset of an empty pipeline to the target's log end.

        Others appended there meanwhile; our next records land behind that.
        """
        if self.is_empty and target_offset > self._entry.target_offset:
            self._entry = replace(self._entry, target_offset=target_offset)

    def _complete(self, entry: Entry) -> Entry:
        needs = self.loss_to_park.needs if self.loss_to_park else None
        seen = self.clock.sightings
        return replace(entry, source_epoch=self.batch_epoch, seen=seen, needs=needs)

    def _stamped(self, outgoing: OutgoingBatch, sequence: int) -> SequencedBatch:
        outgoing.stamp(
            producer_id=self._entry.producer_id,
            producer_epoch=self._entry.epoch,
            base_sequence=sequence,
        )
        return SequencedBatch(sequence, outgoing)
