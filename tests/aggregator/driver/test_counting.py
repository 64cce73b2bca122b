"""Counters of feeds grow by what each loader counted, once, however often it is read."""

from __future__ import annotations

from aggregator.driver.metrics import Counting
from aggregator.loader.counters import COMMITS, ROWS
from aggregator.loader.loader_counts import LoaderTotals

HITS = ("flights", "west regional", "t", "hits")


def totals(rows, **more):
    return LoaderTotals("flights", "west regional", {ROWS.name: {("t", "hits"): rows}, **more})


def sums(counting, counter):
    return counting.sums().get(counter.name, {})


def begun():
    counting = Counting()
    counting.add({}, 0.0)
    return counting


def test_what_was_counted_before_the_process_began_does_not_count():
    counting = Counting()
    counting.add({"a": totals(10)}, 0.0)
    assert sums(counting, ROWS) == {}
    counting.add({"a": totals(13), "b": totals(2)}, 1.0)
    assert sums(counting, ROWS) == {HITS: 5}


def test_a_takeover_does_not_set_a_counter_back():
    counting = begun()
    counting.add({"a": totals(10)}, 0.0)
    counting.add({"b": totals(1)}, 1.0)
    assert sums(counting, ROWS) == {HITS: 11}


def test_a_counter_that_is_0_has_a_sample():
    counting = begun()
    counting.add({"a": totals(0)}, 0.0)
    assert sums(counting, ROWS) == {HITS: 0}


def test_a_counter_that_no_loader_wrote_has_none():
    counting = begun()
    counting.add({"a": totals(1)}, 0.0)
    assert sums(counting, COMMITS) == {}


def test_a_counter_with_other_labels_is_left_out():
    counting = begun()
    counting.add({"a": totals(1, **{COMMITS.name: {("of a later version",): 3.0}})}, 0.0)
    assert sums(counting, COMMITS) == {}
    assert sums(counting, ROWS) == {HITS: 1}
