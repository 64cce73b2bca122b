"""Acknowledgements reveal replaced timestamps; the answer to a duplicate does not count."""

from replicator.batches.batch import header_at
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.stamped_times import stamped_times
from replicator.mirror.ledger.loss import LossKind
from tests.replicator.mirror.carrier.test_partition_pipeline import PLACE, parcel
from tests.replicator.mirror.ledger.held import held


def in_flight(batches=1):
    pipeline = PartitionPipeline(PLACE, held())
    pipeline.add([parcel((at, 1)) for at in range(batches)], batches, 0)
    units = [pipeline.take() for _ in range(batches)]
    return pipeline, units


def test_a_target_with_create_time_answers_no_time():
    pipeline, (unit,) = in_flight()
    assert stamped_times(pipeline, unit, -1) is None


def test_any_time_in_the_answer_to_a_batch_sent_once_is_the_targets_own():
    pipeline, (unit,) = in_flight()
    largest = header_at(unit.parcel.data).max_timestamp
    for answered_ms in (largest, largest + 1):
        loss = stamped_times(pipeline, unit, answered_ms)
        assert (loss.kind, loss.begin, loss.end) == (LossKind.TIMES_CHANGED, 0, 1)


def test_a_duplicate_is_answered_with_the_time_that_the_log_has():
    pipeline, (unit,) = in_flight()
    unit.is_in_doubt = True
    largest = header_at(unit.parcel.data).max_timestamp
    assert stamped_times(pipeline, unit, largest) is None
    assert stamped_times(pipeline, unit, largest + 1)


def test_what_is_in_flight_behind_it_counts_as_changed():
    pipeline, units = in_flight(3)
    assert stamped_times(pipeline, units[0], 7).end == 3
    pipeline.acknowledge(units[0], 0)
    loss = stamped_times(pipeline, units[1], 7)
    assert (loss.begin, loss.end) == (1, 3)
