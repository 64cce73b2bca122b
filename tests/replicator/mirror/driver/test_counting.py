"""Counters grow by everything that each carrier counted, once, however often it is read."""

from replicator.mirror.driver.metrics import Counting
from replicator.mirror.offset_map.totals import NO_LATENCIES, CarrierTotals

PLACE = ("orders", 0)


def totals(records, restarts=0):
    latencies = (records, *NO_LATENCIES[1:])
    return CarrierTotals(
        restarts, 0, latencies, records * 0.5, (("orders", 0, records, 9 * records),)
    )


def test_the_growth_of_each_carrier_counts_once():
    counting = Counting()
    counting.add({"a": totals(10)}, 0.0)
    counting.add({"a": totals(15, restarts=1), "b": totals(7)}, 1.0)
    counting.add({"a": totals(15, restarts=1), "b": totals(7)}, 2.0)
    counts = counting.counts
    assert (counts.records[PLACE], counts.bytes[PLACE], counts.restarts) == (22, 198, 1)
    assert (counts.latencies[0], counts.latency_seconds) == (22, 11.0)


def test_what_was_counted_before_the_process_began_does_not_count():
    counting = Counting()
    counting.begin({"a": totals(10, restarts=1)}, 0.0)
    counting.add({"a": totals(13, restarts=1)}, 1.0)
    counts = counting.counts
    assert (counts.records[PLACE], counts.restarts, counts.latencies[0]) == (3, 0, 3)
