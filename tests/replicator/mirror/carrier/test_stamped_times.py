"""Acknowledgements reveal replaced timestamps; the answer to a duplicate does not count."""

from replicator.kafka.client.loss import LossKind
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.stamped_times import stamped_times
from tests.replicator.mirror.carrier.outgoing_batches import PLACE, outgoing
from tests.replicator.mirror.ledger.held import held


def in_flight(count=1):
    pipeline = PartitionPipeline(PLACE, held())
    pipeline.add([outgoing((at, 1)) for at in range(count)], count, 0)
    return pipeline, [pipeline.take() for _ in range(count)]


def test_a_target_with_create_time_answers_no_time():
    pipeline, (batch,) = in_flight()
    assert stamped_times(pipeline, batch, -1) is None


def test_any_time_in_the_answer_to_a_batch_sent_once_is_the_targets_own():
    pipeline, (batch,) = in_flight()
    largest = batch.max_timestamp_ms
    for answered_ms in (largest, largest + 1):
        loss = stamped_times(pipeline, batch, answered_ms)
        assert (loss.kind, loss.begin, loss.end) == (LossKind.TIMES_CHANGED, 0, 1)


def test_a_duplicate_is_answered_with_the_time_that_the_log_has():
    pipeline, (batch,) = in_flight()
    batch.is_in_doubt = True
    largest = batch.max_timestamp_ms
    assert stamped_times(pipeline, batch, largest) is None
    assert stamped_times(pipeline, batch, largest + 1)


def test_batches_in_flight_behind_it_count_as_changed():
    pipeline, batches = in_flight(3)
    assert stamped_times(pipeline, batches[0], 7).end == 3
    pipeline.acknowledge(batches[0], 0)
    loss = stamped_times(pipeline, batches[1], 7)
    assert (loss.begin, loss.end) == (1, 3)


def test_batches_that_are_queued_again_count_as_changed_once_they_were_sent():
    pipeline, _ = in_flight(3)
    pipeline.add([outgoing((3, 1))], 4, 0)
    pipeline.rewind()
    loss = stamped_times(pipeline, pipeline.take(), 7)
    assert (loss.begin, loss.end) == (0, 3)
