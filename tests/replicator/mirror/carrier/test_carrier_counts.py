"""A carrier_counts only grows, over all sessions."""

from balancer.topic_partition import TopicPartition
from replicator.mirror.carrier.carrier_counts import CarrierCounts
from replicator.mirror.offset_map.totals import LATENCY_BOUNDS, bucket

ONE = TopicPartition("orders", 1)


def test_restarts_and_losses_are_counted_each_time():
    carrier_counts = CarrierCounts()
    carrier_counts.restarted()
    carrier_counts.restarted()
    carrier_counts.lost([ONE])
    carrier_counts.lost([])
    totals = carrier_counts.totals({ONE: (10, 900)})
    assert (totals.restarts, totals.losses) == (2, 1)
    assert totals.carried == (("orders", 1, 10, 900),)


def test_a_batch_counts_with_all_its_records_and_clocks_that_differ_make_no_latency_negative():
    carrier_counts = CarrierCounts()
    carrier_counts.landed(3, 0.2)
    carrier_counts.landed(1, 9999.0)
    carrier_counts.landed(2, -5.0)
    totals = carrier_counts.totals({})
    assert totals.latencies[bucket(0.2)] == 3
    assert totals.latencies[len(LATENCY_BOUNDS)] == 1
    assert totals.latencies[0] == 2
    assert totals.latency_seconds == 3 * 0.2 + 9999.0


def test_every_carrier_has_an_id_of_its_own():
    assert CarrierCounts().id != CarrierCounts().id
