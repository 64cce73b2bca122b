"""Counters grow by everything that each carrier counted, once, however often it is read."""

from hypothesis import given
from hypothesis import strategies as st

from replicator.mirror.driver.counting import FORGET_SECONDS, Counting
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


def test_a_redis_that_was_flushed_and_filled_again_counts_nothing_twice():
    counting = Counting()
    counting.add({"a": totals(10)}, 0.0)
    counting.add({}, 1.0)
    counting.add({"a": totals(12)}, 2.0)
    assert counting.counts.records[PLACE] == 12


def test_totals_that_were_read_before_the_last_ones_count_nothing_twice():
    """Two scrapes may overlap, and a Redis may come back with what it had minutes ago."""
    counting = Counting()
    counting.add({"a": totals(15, restarts=1)}, 0.0)
    counting.add({"a": totals(10)}, 1.0)
    counting.add({"a": totals(16, restarts=1)}, 2.0)
    counts = counting.counts
    assert (counts.records[PLACE], counts.bytes[PLACE], counts.restarts) == (16, 144, 1)
    assert (counts.latencies[0], counts.latency_seconds) == (16, 8.0)


def test_carriers_that_are_long_gone_are_forgotten_and_their_counts_stay():
    counting = Counting()
    counting.add({"a": totals(10)}, 0.0)
    counting.add({}, FORGET_SECONDS + 1.0)
    assert counting.counts.records[PLACE] == 10
    # Nothing is known of the carrier any more, so all that it counted is new.
    counting.add({"a": totals(10)}, FORGET_SECONDS + 2.0)
    assert counting.counts.records[PLACE] == 20


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.booleans()), max_size=60))
def test_looks_that_miss_carriers_lose_nothing_that_a_later_look_finds(steps):
    counting, held, before = Counting(), dict.fromkeys("abc", 0), 0
    for at, (carrier, more, is_seen) in enumerate(steps):
        held[carrier] += more
        counting.add({carrier: totals(held[carrier])} if is_seen else {}, float(at))
        assert counting.counts.records[PLACE] >= before
        before = counting.counts.records[PLACE]
    counting.add({name: totals(count) for name, count in held.items()}, float(len(steps)))
    assert counting.counts.records[PLACE] == sum(held.values())
