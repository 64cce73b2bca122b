"""Merge by time: nothing is lost, streams keep their order, and the skew bounds what is swapped."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from aggregator.verifier.merge import TimedMerge

SKEW_MS = 10

streams = st.lists(
    st.tuples(st.integers(-5, 5), st.lists(st.integers(0, 100), max_size=15).map(sorted)),
    min_size=1,
    max_size=4,
)
"""For each stream the error of its clock, and the true times of its items."""


def merged(found, merge):
    """Adds all items in order of true time, as tailing does, and returns what is released."""
    released = []
    items = sorted(
        (true_ms, number, true_ms + error)
        for number, (error, times) in enumerate(found)
        for true_ms in times
    )
    for true_ms, number, at_ms in items:
        merge.add(number, at_ms, (true_ms, number))
        for other, (error, _) in enumerate(found):
            merge.reach(other, true_ms + error if other == number else true_ms - 5)
        released += merge.take()
    return released, [*merge.rest()]


@given(streams)
def test_every_item_comes_once_and_each_stream_keeps_its_order(found):
    released, rest = merged(found, TimedMerge(range(len(found)), SKEW_MS))
    for number, (_, times) in enumerate(found):
        assert [true_ms for true_ms, of in released + rest if of == number] == times


@given(streams)
def test_items_that_are_further_apart_than_the_skew_come_in_their_true_order(found):
    released, rest = merged(found, TimedMerge(range(len(found)), SKEW_MS))
    times = [true_ms for true_ms, _ in released + rest]
    latest = 0
    for true_ms in times:
        assert true_ms >= latest - SKEW_MS
        latest = max(latest, true_ms)


@given(st.lists(st.integers(0, 50), max_size=20))
def test_a_stream_whose_times_go_back_keeps_its_order(times):
    merge = TimedMerge("a", SKEW_MS)
    for number, at_ms in enumerate(times):
        merge.add("a", at_ms, number)
    assert [*merge.take(), *merge.rest()] == list(range(len(times)))


def test_nothing_is_released_before_every_stream_has_told_how_far_it_is():
    merge = TimedMerge("ab", SKEW_MS)
    merge.add("a", 5, "first")
    merge.reach("a", 1_000)
    assert [*merge.take()] == []
    merge.reach("b", 14)
    assert [*merge.take()] == []
    merge.reach("b", 15)
    assert [*merge.take()] == ["first"]


def test_the_item_that_comes_within_the_skew_may_still_be_overtaken():
    merge = TimedMerge("ab", SKEW_MS)
    merge.add("a", 100, "later")
    merge.add("b", 95, "earlier")
    assert [*merge.take()] == []
    merge.reach("a", 200)
    merge.reach("b", 200)
    assert [*merge.take()] == ["earlier", "later"]


def test_a_stream_that_stands_still_holds_up_the_others_only_up_to_a_limit():
    merge = TimedMerge("ab", SKEW_MS, items_max=3)
    released = []
    for at_ms in range(10):
        merge.add("a", at_ms, at_ms)
        released += merge.take()
    assert released == list(range(7))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30)), max_size=30))
def test_what_ended_streams_leave_comes_out_sorted_by_time(added):
    merge = TimedMerge("abc", SKEW_MS)
    times: dict[str, int] = {}
    for stream, at_ms in added:
        times[stream] = max(times.get(stream, 0), at_ms)
        merge.add(stream, at_ms, times[stream])
    assert all(a <= b for a, b in pairwise(merge.rest()))
