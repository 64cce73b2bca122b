"""A tally only grows, over all sessions."""

from balancer.plan import TopicPartition
from replicator.mirror.carrier.tally import Tally
from replicator.mirror.offset_map.totals import LATENCY_BOUNDS, bucket

ONE = TopicPartition("orders", 1)


def test_restarts_and_losses_are_counted_each_time():
    tally = Tally()
    tally.restarted()
    tally.restarted()
    tally.lost([ONE])
    tally.lost([])
    totals = tally.totals({ONE: (10, 900)})
    assert (totals.restarts, totals.losses) == (2, 1)
    assert totals.carried == (("orders", 1, 10, 900),)


def test_a_batch_counts_with_all_its_records_and_clocks_that_differ_make_no_latency_negative():
    tally = Tally()
    tally.landed(3, 0.2)
    tally.landed(1, 9999.0)
    tally.landed(2, -5.0)
    totals = tally.totals({})
    assert totals.latencies[bucket(0.2)] == 3
    assert totals.latencies[len(LATENCY_BOUNDS)] == 1
    assert totals.latencies[0] == 2
    assert totals.latency_seconds == 3 * 0.2 + 9999.0


def test_every_carrier_has_an_id_of_its_own():
    assert Tally().id != Tally().id
