"""Counters of feeds grow by what each loader counted, once, however often it is read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aggregator.driver.counting import FORGET_SECONDS, Counting
from aggregator.loader.counters import COMMITS, ROWS
from aggregator.loader.tally import LoaderTotals

HITS = ("flights", "west regional", "t", "hits")


def totals(rows, **more):
    return LoaderTotals("flights", "west regional", {ROWS.name: {("t", "hits"): rows}, **more})


def begun():
    counting = Counting()
    counting.add({}, 0.0)
    return counting


def test_the_growth_of_each_loader_counts_once():
    counting = begun()
    counting.add({"a": totals(10)}, 0.0)
    counting.add({"a": totals(15), "b": totals(7)}, 1.0)
    counting.add({"a": totals(15), "b": totals(7)}, 2.0)
    assert counting.sums(ROWS) == {HITS: 22}


def test_what_was_counted_before_the_process_began_does_not_count():
    counting = Counting()
    counting.add({"a": totals(10)}, 0.0)
    assert counting.sums(ROWS) == {}
    counting.add({"a": totals(13), "b": totals(2)}, 1.0)
    assert counting.sums(ROWS) == {HITS: 5}


def test_a_takeover_does_not_set_a_counter_back():
    counting = begun()
    counting.add({"a": totals(10)}, 0.0)
    counting.add({"b": totals(1)}, 1.0)
    assert counting.sums(ROWS) == {HITS: 11}


def test_totals_that_were_read_before_the_last_ones_count_nothing_twice():
    """Two scrapes may overlap, and a Redis may come back with what it had minutes ago."""
    counting = begun()
    counting.add({"a": totals(15, **{COMMITS.name: {(): 2.0}})}, 0.0)
    counting.add({"a": totals(10)}, 1.0)
    counting.add({"a": totals(16, **{COMMITS.name: {(): 3.0}})}, 2.0)
    assert counting.sums(ROWS) == {HITS: 16}
    assert counting.sums(COMMITS) == {HITS[:2]: 3}


def test_a_counter_that_is_0_has_a_sample():
    counting = begun()
    counting.add({"a": totals(0)}, 0.0)
    assert counting.sums(ROWS) == {HITS: 0}


def test_a_counter_that_no_loader_wrote_has_none():
    counting = begun()
    counting.add({"a": totals(1)}, 0.0)
    assert counting.sums(COMMITS) == {}


def test_a_counter_with_other_labels_is_left_out():
    counting = begun()
    counting.add({"a": totals(1, **{COMMITS.name: {("of a later version",): 3.0}})}, 0.0)
    assert counting.sums(COMMITS) == {}
    assert counting.sums(ROWS) == {HITS: 1}


def test_loaders_that_are_long_gone_are_forgotten_and_their_counts_stay():
    counting = begun()
    counting.add({"a": totals(10)}, 0.0)
    counting.add({}, FORGET_SECONDS + 1.0)
    assert counting.sums(ROWS) == {HITS: 10}
    # Nothing is known of the loader any more, so all that it counted is new.
    counting.add({"a": totals(10)}, FORGET_SECONDS + 2.0)
    assert counting.sums(ROWS) == {HITS: 20}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.booleans()), max_size=60))
def test_looks_that_miss_loaders_lose_nothing_that_a_later_look_finds(steps):
    counting, held, before = begun(), dict.fromkeys("abc", 0), 0
    for at, (loader, more, is_seen) in enumerate(steps):
        held[loader] += more
        counting.add({loader: totals(held[loader])} if is_seen else {}, float(at))
        found = counting.sums(ROWS).get(HITS, 0)
        assert found >= before
        before = found
    counting.add({name: totals(count) for name, count in held.items()}, float(len(steps)))
    assert counting.sums(ROWS) == {HITS: sum(held.values())}
