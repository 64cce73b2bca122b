"""Rates follow the acknowledged records; an unknown figure is None and never 0."""

from weakref import ref

import pytest

from balancer.topic_partition import TopicPartition
from replicator.batches.outgoing_batch import OutgoingBatch
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.carrier.carrier_counts import CarrierCounts
from replicator.mirror.carrier.pace import HALF_LIFE_SECONDS, Pace
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.sequenced_batch import SequencedBatch
from replicator.mirror.offset_map.totals import bucket
from tests.replicator.mirror.carrier.test_receipt_book import ONE, pipeline_that_carried


def batch_of(size: int, count: int, readable_ms: int | None) -> SequencedBatch:
    return SequencedBatch(
        0, OutgoingBatch(bytearray(size), count, ((0, count),), False), readable_ms=readable_ms
    )


def test_bytes_shipped_are_counted_until_the_ledger_takes_note():
    pace = Pace("west>east", 0)
    one, two = batch_of(400, 3, 100_000), batch_of(2, 1, None)
    pace.shipped(one, 100.25)
    pace.shipped(two, 100.25)
    assert pace.bytes_since_commit == 402


def test_the_latency_of_each_record_counts_once_though_its_batch_is_acknowledged_twice():
    carrier_counts = CarrierCounts()
    pace, batch = Pace("west>east", 0, carrier_counts), batch_of(400, 3, 100_000)
    pace.shipped(batch, 100.25)
    pace.shipped(batch, 107.0)
    totals = carrier_counts.totals({})
    assert (sum(totals.latencies), totals.latencies[bucket(0.25)]) == (3, 3)
    assert totals.latency_seconds == pytest.approx(0.75)


def test_before_anything_is_known_nothing_is_said():
    pipeline = pipeline_that_carried(0, 0, 5)
    (report,) = Pace("west>east", 0).reports([pipeline], {}, 100.0)
    assert report.records_per_second is None
    assert report.source_end is None and report.lag_records is None and report.lag_seconds is None
    assert report.mirrored_to == 5


def test_a_rate_is_taken_from_the_first_interval_and_fades():
    pace, pipeline = Pace("west>east", 0), pipeline_that_carried(0, 0, 5)
    pace.reports([pipeline], {}, 100.0)
    pipeline.records += 100
    (report,) = pace.reports([pipeline], {}, 110.0)
    assert report.records_per_second == 10.0
    (report,) = pace.reports([pipeline], {}, 110.0 + HALF_LIFE_SECONDS)
    assert report.records_per_second == pytest.approx(5.0)


def test_a_partition_taken_again_starts_over_and_its_rate_is_never_negative():
    pace, pipeline = Pace("west>east", 0), pipeline_that_carried(0, 0, 500)
    pace.reports([pipeline], {}, 100.0)
    pipeline.records += 100
    pace.reports([pipeline], {}, 110.0)
    again = pipeline_that_carried(500, 500, 3)
    (report,) = pace.reports([again], {}, 120.0)
    assert report.records_per_second is None and report.bytes_per_second is None
    again.records += 20
    (report,) = pace.reports([again], {}, 130.0)
    assert report.records_per_second == 2.0


def test_a_pipeline_that_was_parked_is_not_held_in_memory():
    pace, pipeline = Pace("west>east", 0), pipeline_that_carried(0, 0, 5)
    pace.reports([pipeline], {}, 100.0)
    pace.reports([], {ONE: Loss(LossKind.TARGET_REFUSES, 3, 4)}, 101.0)
    known = ref(pipeline)
    del pipeline
    assert known() is None


def test_lag_counts_from_when_it_began():
    pace, pipeline = Pace("west>east", 0), pipeline_that_carried(0, 0, 5)
    pipeline.source_end, pipeline.reported_at = 5, 100.0
    assert pace.reports([pipeline], {}, 100.0)[0].lag_seconds == 0.0
    pipeline.source_end, pipeline.reported_at = 9, 101.0
    first, later = pace.reports([pipeline], {}, 101.0)[0], pace.reports([pipeline], {}, 104.0)[0]
    assert (first.lag_records, later.lag_records) == (4, 4)
    assert later.lag_seconds == 3.0
    assert pipeline.statement().entry.seen == pipeline.clock.sightings


def test_lag_goes_on_under_the_next_carrier():
    pace, pipeline = Pace("west>east", 0), pipeline_that_carried(0, 0, 5)
    for at, end in ((100.0, 5), (101.0, 9)):
        pipeline.source_end, pipeline.reported_at = end, at
        pace.reports([pipeline], {}, at)
    taken = PartitionPipeline(pipeline.partition, pipeline.released("id.free"))
    taken.source_end, taken.reported_at = 9, 400.0
    (report,) = Pace("west>east", 1).reports([taken], {}, 400.0)
    assert report.lag_seconds == 299.0


def test_a_source_that_has_not_answered_lately_leaves_lag_unknown():
    pace, pipeline = Pace("west>east", 0), pipeline_that_carried(0, 0, 5)
    pipeline.source_end, pipeline.reported_at = 5, 100.0
    assert pace.reports([pipeline], {}, 115.0)[0].lag_seconds == 0.0
    assert pace.reports([pipeline], {}, 116.0)[0].lag_seconds is None


def test_what_an_open_transaction_holds_up_lags_behind_the_high_watermark():
    pace, pipeline = Pace("west>east", 0), pipeline_that_carried(0, 0, 5)
    for at, high in ((100.0, 5), (101.0, 8), (131.0, 9)):
        pipeline.source_end, pipeline.source_high, pipeline.reported_at = 5, high, at
        (report,) = pace.reports([pipeline], {}, at)
    assert (report.lag_records, report.lag_seconds) == (0, 0.0)
    assert (report.source_high, report.written_lag_records) == (9, 4)
    assert (report.written_lag_seconds, report.open_transaction_seconds) == (30.0, 30.0)


def test_a_parked_partition_says_why_and_nothing_else():
    loss = Loss(LossKind.TARGET_REFUSES, 3, 4)
    (report,) = Pace("west>east", 2).reports([], {ONE: loss}, 100.0)
    assert TopicPartition(report.topic, report.partition) == ONE
    assert (report.parked, report.carrier) == (str(loss), 2)
    assert report.lag_records is None and report.records_per_second is None
