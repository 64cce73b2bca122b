"""Partition pipeline: its entry, its queue of batches, their sequences and gaps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replicator.kafka.client.loss import Loss, LossKind, NeededLimit
from replicator.mirror.carrier.partition_pipeline import (
    AcknowledgedTooLow,
    PartitionPipeline,
    Statement,
)
from replicator.mirror.carrier.send_queue import SendQueue
from replicator.mirror.carrier.sequenced_batch import SequencedBatch
from replicator.mirror.carrier.source_gaps import SourceGaps
from replicator.mirror.ledger.entry import (
    METADATA_BYTES_MAX,
    SEQUENCE_MASK,
    Gap,
    decode,
    encode,
)
from replicator.mirror.ledger.sightings import Sighting
from tests.replicator.mirror.carrier.outgoing_batches import (
    BATCH,
    PLACE,
    WINDOW,
    WRITTEN_MS,
    outgoing,
)
from tests.replicator.mirror.carrier.pipeline_histories import Carried
from tests.replicator.mirror.ledger.held import held

# -- Partition pipeline: an entry and the records landed after it always give the source position.

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


def test_an_entry_names_the_limit_that_its_next_record_waits_for():
    pipeline = PartitionPipeline(PLACE, held())
    assert pipeline.statement().entry.needs is None
    pipeline.loss_to_park = Loss(LossKind.RECORD_TOO_LARGE, 0, 1, "", NeededLimit(5000))
    waiting = pipeline.statement().entry
    assert decode(*encode(waiting)).needs == NeededLimit(5000)
    assert waiting != held(seen=waiting.seen), "an equal entry would not be committed"
    assert pipeline.released("free").needs == NeededLimit(5000)


# -- Batches leave a send queue in order, however often they are sent again.


@pytest.fixture
def queue() -> SendQueue:
    """A queue of four batches with the sequences 0 to 3."""
    queue = SendQueue()
    for number in range(4):
        queue.append(SequencedBatch(number, outgoing((number, 1))))
    return queue


def sequences(batches):
    return [batch.sequence for batch in batches]


def test_a_rewind_restores_the_order(queue):
    queue.take()
    queue.take()
    assert queue.in_flight == 2
    queue.rewind()
    assert sequences(queue.queued()) == [0, 1, 2, 3]
    assert queue.in_flight == 0 and queue.size_bytes == 4 * len(BATCH)


def test_an_acknowledged_batch_leaves_only_behind_all_before_it(queue):
    first, second = queue.take(), queue.take()
    second.base_offset = 11
    assert queue.pop_acknowledged() is None
    assert queue.is_first_in_flight(first) and not queue.is_first_in_flight(second)
    first.base_offset = 10
    assert [queue.pop_acknowledged() for _ in range(3)] == [first, second, None]
    assert queue.size_bytes == 2 * len(BATCH)


def test_only_batches_that_were_never_sent_are_dropped(queue):
    queue.take()
    queue.take()
    queue.rewind()
    assert queue.drop_unsent() == 2
    assert sequences(queue.queued()) == [0, 1]
    assert queue.drop_unsent() is None
    assert queue.size_bytes == 2 * len(BATCH)


# -- Sequences of batches count records, modulo 2^31.


def test_the_next_sequence_wraps_around():
    assert SequencedBatch(7, outgoing((0, 3))).next_sequence == 10
    assert SequencedBatch(SEQUENCE_MASK - 1, outgoing((0, 3))).next_sequence == 1


def test_size_and_timestamp_are_those_of_the_batch():
    batch = SequencedBatch(0, outgoing((0, 1)))
    assert (batch.size_bytes, batch.max_timestamp_ms) == (len(BATCH), WRITTEN_MS)


# -- A record behind a gap is covered once a committed entry lists the gap.


def test_records_up_to_the_first_uncovered_gap_are_covered():
    gaps = SourceGaps(0)
    gaps.add(5, 3)
    assert gaps.are_covered(5) and not gaps.are_covered(6)
    gaps.covered_to = 8
    gaps.add(9, 1)
    assert gaps.are_covered(9) and not gaps.are_covered(10)


def test_gaps_are_listed_by_the_records_between_them_across_the_end_of_the_sequences():
    begin = SEQUENCE_MASK - 1
    gaps = SourceGaps(begin)
    gaps.add(SEQUENCE_MASK, 3)
    gaps.add(4, 7)
    assert gaps.listed(begin, 10) == ((Gap(1, 3), Gap(5, 7)), 10)


def test_no_more_gaps_are_listed_than_fit():
    gaps = SourceGaps(0, bytes_max=len("1,1,") * 2)
    for sequence in (1, 2, 3):
        gaps.add(sequence, 1)
    assert gaps.listed(0, 4) == ((Gap(1, 1), Gap(1, 1)), 3)


def test_gaps_of_landed_and_of_dropped_records_are_forgotten():
    gaps = SourceGaps(0)
    for sequence in (1, 2, 3):
        gaps.add(sequence, 1)
    gaps.drop_before(2)
    gaps.drop_from(3)
    assert gaps.listed(1, 3) == ((Gap(1, 1),), 3)


def test_a_gap_is_shortened_until_nothing_is_left_to_list():
    gaps = SourceGaps(0)
    gaps.add(0, 5)
    gaps.add(3, 5)
    gaps.shorten(0, 2)
    assert gaps.listed(0, 9) == ((Gap(0, 3), Gap(3, 5)), 9)
    gaps.shorten(0, 4)
    assert gaps.listed(0, 9) == ((Gap(3, 5),), 9)
    assert not gaps.are_covered(1)


def test_a_gap_of_nothing_waits_for_an_entry_and_is_not_listed():
    gaps = SourceGaps(0)
    gaps.add(3, 0)
    gaps.add(5, 2)
    assert not gaps.are_covered(4)
    listed, gaps.covered_to = gaps.listed(0, 9)
    assert listed == (Gap(5, 2),)
    assert gaps.are_covered(9)
