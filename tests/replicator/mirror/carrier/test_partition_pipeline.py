"""Partition pipeline: an entry and the records landed after it always give the source position."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from balancer.plan import TopicPartition
from replicator.batches.outgoing_batch import OutgoingBatch
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.carrier.partition_pipeline import (
    AcknowledgedTooLow,
    PartitionPipeline,
    Statement,
)
from replicator.mirror.carrier.sequenced_batch import SequencedBatch
from replicator.mirror.ledger.entry import (
    METADATA_BYTES_MAX,
    SEQUENCE_MASK,
    Gap,
    decode,
    encode,
)
from replicator.mirror.ledger.sightings import Sighting
from tests.replicator.batches.source_batches import encoded, one_record
from tests.replicator.mirror.ledger.held import held

PLACE = TopicPartition("topic", 0)
BATCH = encoded([one_record(0)])
WRITTEN_MS = 1_700_000_000_000
"""Timestamp of the records in BATCH."""
WINDOW = 5


def outgoing(*spans: tuple[int, int]) -> OutgoingBatch:
    return OutgoingBatch(bytearray(BATCH), sum(count for _, count in spans), spans, False)


class Carried(RuleBasedStateMachine):
    """Random histories of one pipeline.

    The source has gaps. The broker accepts sequences in order. Answers come late or never. The
    ledger keeps the last statement committed.
    """

    @initialize(begin=st.sampled_from([0, SEQUENCE_MASK - 20]), source=st.integers(0, 100))
    def begin(self, begin: int, source: int) -> None:
        entry = held(sequence=begin, source_offset=source, target_offset=1000, source_epoch=0)
        self.pipeline = PartitionPipeline(PLACE, entry)
        self.ledger = entry
        self.source_end = source  # source offset of the next record
        self.records: list[int] = []  # source offsets of all records, in order
        self.first = source
        self.landed: list[int] = []  # source offsets of the records in the target
        self.base_of: dict[int, int] = {}  # target offset of each batch, by its first source offset
        self.unanswered: deque[SequencedBatch] = deque()
        self.undelivered: deque[SequencedBatch] = deque()
        self.target_end = 1000
        self.statement: Statement | None = None
        self.every_answer_arrived = True
        self.source_epoch = 0
        self.epoch_of: dict[int, int] = {}  # leader epoch of each record, by its source offset

    # -- the reader

    @rule()
    def elect_a_source_leader(self) -> None:
        self.source_epoch += 1

    @precondition(lambda self: not self.pipeline.is_settling)
    @rule(
        spans=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=4),
        tail=st.integers(0, 3),
    )
    def fetch(self, spans: list[tuple[int, int]], tail: int) -> None:
        """Fetches gaps and records in turn, and `tail` offsets without records behind them."""
        parts = []
        for skipped, count in spans:
            begin = self.source_end + skipped
            parts.append((begin, count))
            self.records += range(begin, begin + count)
            self.epoch_of |= dict.fromkeys(range(begin, begin + count), self.source_epoch)
            self.source_end = begin + count
        self.source_end += tail
        batches = [outgoing(*parts)] if parts and len(parts) % 2 else [outgoing(p) for p in parts]
        self.pipeline.add(batches, self.source_end, self.source_epoch)

    # -- the sender and the broker

    @rule()
    def send(self) -> None:
        if self.pipeline.is_ready(WINDOW):
            self.undelivered.append(self.pipeline.take())

    @rule()
    def deliver(self) -> None:
        if self.undelivered:
            batch = self.undelivered.popleft()
            offsets = [o + i for o, count in batch.outgoing.spans for i in range(count)]
            if offsets[0] not in self.base_of:
                assert self.landed == self.records[: len(self.landed)]
                assert offsets == self.records[len(self.landed) :][: len(offsets)]
                self.base_of[offsets[0]] = self.target_end
                self.landed += offsets
                self.target_end += len(offsets)
            self.unanswered.append(batch)

    @rule(knows_where=st.booleans())
    def answer(self, knows_where: bool) -> None:
        if self.unanswered:
            batch = self.unanswered.popleft()
            base = self.base_of[batch.outgoing.first_offset]
            self.pipeline.acknowledge(batch, base if knows_where else -1)

    @rule()
    def lose_the_connection(self) -> None:
        """Loses all requests and answers under way; every batch is sent again."""
        self.undelivered.clear()
        self.unanswered.clear()
        self.pipeline.rewind()

    @rule(at=st.integers(1, 4), joins=st.booleans())
    def repack(self, at: int, joins: bool) -> None:
        """A batch at the front was refused: it is split, or joined with the one behind it."""
        queued = self.pipeline.queue.queued()
        if not queued or any(batch.outgoing.first_offset in self.base_of for batch in queued):
            return
        replaced = 2 if joins and len(queued) > 1 else 1
        old = [batch.outgoing for batch in queued[:replaced]]
        offsets = [o + i for one in old for o, count in one.spans for i in range(count)]
        parts = [offsets] if replaced == 2 else [offsets[:at], offsets[at:]]
        self.pipeline.repack(
            replaced, [outgoing(*((o, 1) for o in part)) for part in parts if part]
        )
        assert self.pipeline.queue.queued()[0].sequence == queued[0].sequence

    @rule(count=st.integers(1, 5))
    def others_append(self, count: int) -> None:
        self.target_end += count

    @rule()
    def move_up(self) -> None:
        self.pipeline.moved_up(self.target_end)

    # -- the ledger

    @rule()
    def state(self) -> None:
        if self.statement is None:
            self.statement = self.pipeline.statement()

    @rule(arrives=st.booleans())
    def commit(self, arrives: bool) -> None:
        """Commits an earlier statement; its answer may be lost."""
        if self.statement is not None:
            before = self.ledger.source_offset
            offset, metadata = encode(self.statement.entry)
            self.ledger = decode(offset, metadata)
            assert self.ledger.source_offset >= before or not self.every_answer_arrived
            if arrives:
                self.pipeline.committed(self.statement)
            self.every_answer_arrived &= arrives
            self.statement = None

    @rule()
    def settle(self) -> None:
        self.pipeline.settle()

    @rule()
    def release(self) -> None:
        """Releases an empty pipeline; the entry alone then gives the position."""
        if self.pipeline.is_settling and self.pipeline.is_empty and self.statement is None:
            released = self.pipeline.released("sluice.west.east.0.free")
            turned_back = released.source_offset < self.ledger.source_offset
            assert not (turned_back and self.every_answer_arrived)
            assert [o for o in self.records if o < released.source_offset] == self.landed
            assert released.target_offset <= self.target_end

    # -- findings of a takeover

    @invariant()
    def the_source_position_is_determined(self) -> None:
        if not hasattr(self, "pipeline"):
            return
        before = [o for o in self.landed if o < self.ledger.source_offset]
        after = self.landed[len(before) :]
        last = (self.pipeline.began.sequence + len(self.landed) - 1) & SEQUENCE_MASK
        landed = self.ledger.landed_up_to(last)
        assert landed == len(after)
        position = self.ledger.after(landed)
        assert [o for o in self.records if o < position] == self.landed
        spans = self.ledger.spans(0, landed)
        assert [s.source_offset + i for s in spans for i in range(s.count)] == after

    @invariant()
    def the_entry_names_the_newest_leader_epoch_of_all_that_landed(self) -> None:
        if not hasattr(self, "pipeline"):
            return
        newest = max((self.epoch_of[offset] for offset in self.landed), default=0)
        assert newest <= self.ledger.source_epoch

    @invariant()
    def what_follows_stands_behind_the_target_offset(self) -> None:
        if not hasattr(self, "pipeline"):
            return
        after = [o for o in self.landed if o >= self.ledger.source_offset]
        bases = [base for first, base in self.base_of.items() if first in after]
        assert all(base >= self.ledger.target_offset for base in bases)


Carried.TestCase.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
TestCarried = Carried.TestCase


def cover(pipeline: PartitionPipeline) -> Statement:
    statement = pipeline.statement()
    pipeline.committed(statement)
    return statement


def test_a_batch_behind_a_gap_waits_for_an_entry_that_covers_it():
    pipeline = PartitionPipeline(PLACE, held())
    pipeline.add([outgoing((3, 2))], 5, 0)
    assert pipeline.waits_for_cover and not pipeline.is_ready(WINDOW)
    cover(pipeline)
    assert pipeline.is_ready(WINDOW)


def test_an_entry_does_not_name_again_offsets_that_it_stepped_over_while_a_batch_was_queued():
    pipeline = PartitionPipeline(PLACE, held())
    pipeline.add([], 52, 0)  # an aborted transaction
    idle = pipeline.statement()
    pipeline.add([outgoing((52, 3))], 55, 0)
    pipeline.committed(idle)
    stated = cover(pipeline).entry
    assert (stated.source_offset, stated.gaps) == (idle.entry.source_offset, ()) == (52, ())
    assert pipeline.is_ready(WINDOW)


def test_a_newer_leader_epoch_is_named_also_where_the_entry_steps_over_the_whole_gap():
    pipeline = PartitionPipeline(PLACE, held(source_epoch=0))
    pipeline.add([], 52, 0)
    idle = pipeline.statement()
    pipeline.add([outgoing((52, 3))], 55, 1)
    pipeline.committed(idle)
    assert pipeline.waits_for_cover
    assert cover(pipeline).entry.source_epoch == 1
    assert pipeline.is_ready(WINDOW)


def test_a_gap_behind_offsets_that_an_entry_stepped_over_still_waits_for_an_entry():
    pipeline = PartitionPipeline(PLACE, held())
    pipeline.add([], 52, 0)
    idle = pipeline.statement()
    pipeline.add([outgoing((60, 3))], 63, 0)
    pipeline.committed(idle)
    assert pipeline.waits_for_cover
    assert cover(pipeline).entry.gaps == (Gap(0, 8),)
    assert pipeline.is_ready(WINDOW)


def test_a_batch_of_a_newer_leader_epoch_waits_for_an_entry_that_names_it():
    pipeline = PartitionPipeline(PLACE, held(source_epoch=0))
    pipeline.add([outgoing((0, 2))], 2, 0)
    assert pipeline.is_ready(WINDOW)
    pipeline.acknowledge(pipeline.take(), 1000)
    pipeline.add([outgoing((2, 2))], 4, 1)
    assert pipeline.waits_for_cover and not pipeline.is_ready(WINDOW)
    entry = cover(pipeline).entry
    assert (entry.source_offset, entry.source_epoch, entry.gaps) == (2, 1, ())
    assert pipeline.is_ready(WINDOW)


def test_the_first_batch_is_sent_alone_and_again_after_a_rewind_or_a_silence():
    pipeline = PartitionPipeline(PLACE, held())
    pipeline.add([outgoing((n, 1)) for n in range(4)], 4, 0)
    first = pipeline.take()
    assert not pipeline.is_ready(WINDOW)
    pipeline.acknowledge(first, 0)
    assert pipeline.is_ready(WINDOW)
    pipeline.take()
    assert pipeline.is_ready(WINDOW)
    pipeline.rewind()
    second = pipeline.take()
    assert not pipeline.is_ready(WINDOW)
    pipeline.acknowledge(second, 1)
    pipeline.note_silence()
    pipeline.take()
    assert not pipeline.is_ready(WINDOW)


def test_a_batch_that_may_have_landed_is_sent_again_byte_for_byte():
    pipeline = PartitionPipeline(PLACE, held())
    pipeline.add([outgoing((0, 2)), outgoing((2, 1))], 3, 0)
    sent = pipeline.take()
    data = bytes(sent.outgoing.data)
    pipeline.rewind()
    assert pipeline.take() is sent and bytes(sent.outgoing.data) == data


def test_a_batch_acknowledged_behind_an_unacknowledged_one_is_sent_again_and_is_no_loss():
    """With slow followers, the first request times out and the next ones are answered."""
    pipeline = PartitionPipeline(PLACE, held())
    pipeline.add([outgoing((n, 1)) for n in range(4)], 4, 0)
    pipeline.acknowledge(pipeline.take(), 10)
    unanswered, answered = pipeline.take(), pipeline.take()
    pipeline.acknowledge(answered, 12)
    pipeline.rewind()
    assert pipeline.take() is unanswered
    pipeline.acknowledge(unanswered, 11)
    assert pipeline.entry.source_offset == 2
    assert pipeline.take() is answered
    pipeline.acknowledge(answered, 12)
    assert (pipeline.entry.source_offset, pipeline.entry.target_offset) == (3, 13)


def test_a_refusal_is_over_once_a_batch_has_landed():
    pipeline = PartitionPipeline(PLACE, held())
    pipeline.add([outgoing((0, 1))], 1, 0)
    batch = pipeline.take()
    pipeline.refused = "NOT_ENOUGH_REPLICAS"
    pipeline.acknowledge(batch, 0)
    assert pipeline.refused == ""


def test_an_offset_below_acknowledged_records_is_a_loss():
    pipeline = PartitionPipeline(PLACE, held(target_offset=50))
    pipeline.add([outgoing((0, 1))], 1, 0)
    with pytest.raises(AcknowledgedTooLow):
        pipeline.acknowledge(pipeline.take(), 49)


def test_an_entry_does_not_move_up_over_an_unanswered_batch():
    pipeline = PartitionPipeline(PLACE, held())
    pipeline.add([outgoing((0, 1))], 1, 0)
    pipeline.take()
    pipeline.rewind()
    pipeline.moved_up(100)
    assert pipeline.entry.target_offset == 0


def test_however_many_gaps_an_entry_fits_also_when_it_is_parked():
    pipeline = PartitionPipeline(
        PLACE, held(sequence=SEQUENCE_MASK // 2, source_offset=10**15, target_offset=10**15)
    )
    spans = [(10**15 + n * 10_000, 1) for n in range(2000)]
    pipeline.add(
        [outgoing(*spans[at : at + 150]) for at in range(0, 2000, 150)], spans[-1][0] + 1, 9
    )
    statement = cover(pipeline)
    seen = [Sighting(10**12 + n * 10**9, 10**12 + n * 10**9, 10**15, 2**62) for n in range(64)]
    worst = replace(
        statement.entry, producer_id=2**62, transactional_id="s" * 250, seen=tuple(seen)
    )
    loss = Loss(LossKind.TARGET_TAIL_DELETED, 10**15, 10**15, "ü" * 500)
    for entry in (worst, worst.park(loss)):
        assert len(encode(entry)[1].encode()) <= 4096
        assert decode(*encode(entry)).seen
    assert len(statement.entry.gaps) > 150
    assert METADATA_BYTES_MAX < 4096


def test_only_records_in_doubt_count_as_old():
    pipeline = PartitionPipeline(PLACE, held())
    pipeline.add([outgoing((0, 1))], 1, 0)
    batch = pipeline.take()
    assert pipeline.queue.oldest_in_doubt_ms == float("inf")
    batch.is_in_doubt = True
    assert pipeline.queue.oldest_in_doubt_ms == WRITTEN_MS


def test_a_batch_acknowledged_behind_an_unacknowledged_one_is_in_doubt_when_it_is_sent_again():
    pipeline = PartitionPipeline(PLACE, held())
    pipeline.add([outgoing((n, 1)) for n in range(2)], 2, 0)
    pipeline.take()
    pipeline.acknowledge(pipeline.take(), 1)
    assert pipeline.queue.oldest_in_doubt_ms == WRITTEN_MS


def test_repacked_batches_keep_their_sequences_and_are_counted_anew():
    pipeline = PartitionPipeline(PLACE, held(sequence=7))
    pipeline.add([outgoing((0, 3)), outgoing((3, 2))], 5, 0)
    before = pipeline.queue.size_bytes
    pipeline.repack(1, [outgoing((0, 1)), outgoing((1, 2))])
    assert [batch.sequence for batch in pipeline.queue.queued()] == [7, 8, 10]
    assert pipeline.queue.size_bytes == before + len(BATCH)
    pipeline.repack(2, [outgoing((0, 3))])
    assert [batch.sequence for batch in pipeline.queue.queued()] == [7, 10]
    assert pipeline.queue.size_bytes == before


def test_a_loss_to_park_is_forgotten_with_the_batches_queued_before_it():
    """An entry parked there would name a loss behind records that were never carried."""
    loss = Loss(LossKind.RECORD_TOO_LARGE, 2, 3)
    for sent, kept in ((1, None), (2, loss)):
        pipeline = PartitionPipeline(PLACE, held())
        pipeline.add([outgoing((0, 1)), outgoing((1, 1))], 2, 0)
        for _ in range(sent):
            pipeline.take()
        pipeline.loss_to_park = loss
        pipeline.settle()
        assert pipeline.loss_to_park == kept
