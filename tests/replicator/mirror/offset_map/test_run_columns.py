"""Runs and sets of offsets: joined, buffered, and compared."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.mirror.offset_map.run_columns import RunsContradict, merged
from replicator.mirror.offset_map.run_segment import LandedOutOfOrder, Run, RunBuffer, RunSegment
from replicator.mirror.offset_map.spans import Span, Spans

# -- Runs in any order, overlapping and repeated, become the fewest runs of the same records.

# (source offset, target offset) of each record: directly behind the previous one, or further on.
RECORDS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), max_size=12).map(
    lambda steps: [
        (sum(s for s, _ in steps[: at + 1]), sum(t for _, t in steps[: at + 1]))
        for at in range(len(steps))
    ]
)


def columns(runs):
    return tuple(np.array(runs, dtype=np.int64).reshape(-1, 3).T)


def columns_of(records, data):
    """Returns runs of neighbors that cover all pairs, some of them more than once."""
    runs = [(source, target, 1) for source, target in records]
    for at in range(len(records) - 1):
        is_next = records[at + 1] == (records[at][0] + 1, records[at][1] + 1)
        if is_next and data.draw(st.booleans()):
            runs.append((*records[at], 2))
    return data.draw(st.permutations(runs))


@given(RECORDS, st.data())
def test_merged_runs_cover_the_same_records_and_no_two_are_adjacent(records, data):
    sources, targets, counts = merged(*columns(columns_of(records, data)))
    covered = [
        (int(source) + at, int(target) + at)
        for source, target, count in zip(sources, targets, counts, strict=True)
        for at in range(count)
    ]
    assert covered == records
    ends = zip((sources + counts)[:-1], (targets + counts)[:-1], strict=True)
    assert not any(
        end == begin
        for end, begin in zip(ends, zip(sources[1:], targets[1:], strict=True), strict=True)
    )


@pytest.mark.parametrize("other", [(12, 105, 3), (20, 102, 1)], ids=["record", "target offset"])
def test_a_record_or_a_target_offset_in_two_runs_is_refused_with_both_runs(other):
    source, target, count = other
    found = rf"{source}\.\.{source + count - 1} landed at {target}\.\.{target + count - 1}"
    with pytest.raises(RunsContradict, match=rf"10\.\.14 landed at 100\.\.104, but .* {found}$"):
        merged(*columns([(10, 100, 5), other]))


# -- Run buffer: it holds exactly the runs that landed, in the fewest runs.


def test_adjacent_batches_are_one_run():
    buffer = RunBuffer(0)
    buffer.land(10, 110, 5)
    buffer.land(15, 115, 5)
    assert buffer.take() == [RunSegment(0, 20, (Run(10, 110, 10),))]


def test_a_gap_on_either_side_begins_a_run():
    buffer = RunBuffer(10)
    buffer.land(10, 110, 5)
    buffer.land(16, 115, 1)
    buffer.land(17, 200, 1)
    (segment,) = buffer.take()
    assert segment.runs == (Run(10, 110, 5), Run(16, 115, 1), Run(17, 200, 1))


def test_consecutive_segments_touch():
    buffer = RunBuffer(7)
    buffer.land(10, 110, 5)
    (first,) = buffer.take()
    buffer.land(20, 120, 5)
    (second,) = buffer.take()
    assert (first.source_begin, first.source_end) == (7, 15)
    assert (second.source_begin, second.source_end) == (15, 25)


def test_without_landed_records_there_is_no_segment():
    buffer = RunBuffer(7)
    assert buffer.take() == []
    buffer.land(7, 7, 1)
    buffer.take()
    assert buffer.take() == []


def test_offsets_passed_over_are_covered_without_a_run():
    buffer = RunBuffer(7)
    buffer.pass_over(9)
    assert buffer.take() == [RunSegment(7, 9, ())]
    buffer.land(9, 9, 1)
    buffer.pass_over(12)
    buffer.land(12, 10, 1)
    assert buffer.take() == [RunSegment(9, 13, (Run(9, 9, 1), Run(12, 10, 1)))]


def test_a_merged_batch_lands_its_spans_at_consecutive_target_offsets():
    buffer = RunBuffer(0)
    buffer.land_all(100, ((5, 2), (9, 1), (10, 3)))
    (segment,) = buffer.take()
    assert segment.runs == (Run(5, 100, 2), Run(9, 102, 4))


def test_a_long_segment_is_split_into_parts_that_touch():
    buffer = RunBuffer(0)
    for source in range(1, 10, 2):
        buffer.land(source, source, 1)
    segments = buffer.take(runs_max=2)
    assert [(part.source_begin, part.source_end) for part in segments] == [(0, 5), (5, 9), (9, 10)]
    assert [len(part.runs) for part in segments] == [2, 2, 1]


@pytest.mark.parametrize(("source", "target"), [(14, 200), (20, 114)])
def test_a_record_that_landed_after_a_later_one_is_refused(source, target):
    buffer = RunBuffer(0)
    buffer.land(10, 110, 5)
    with pytest.raises(LandedOutOfOrder, match="behind source offset 14"):
        buffer.land(source, target, 1)


# -- Sets of offsets kept as spans behave as sets.

LISTS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda it: Span(it[0], it[0] + it[1]))
)


def offsets(spans) -> set[int]:
    return {offset for begin, end in spans for offset in range(begin, end)}


@given(LISTS)
def test_a_set_of_spans_holds_the_offsets_of_its_spans_in_the_fewest_spans(spans):
    held = list(Spans(*spans))
    assert offsets(held) == offsets(spans)
    assert all(left.end < right.begin for left, right in pairwise(held))


@given(LISTS, st.randoms())
def test_the_order_of_additions_never_matters(spans, random):
    shuffled = random.sample(spans, len(spans))
    assert Spans(*spans) == Spans(*shuffled)


@given(LISTS, LISTS)
def test_removed_offsets_are_gone_and_no_others(spans, others):
    rest = Spans(*spans).without(Spans(*others))
    assert offsets(rest) == offsets(spans) - offsets(others)


@given(LISTS, LISTS)
def test_the_intersection_holds_the_offsets_of_both_sets(spans, others):
    both = Spans(*spans).within(Spans(*others))
    assert offsets(both) == offsets(spans) & offsets(others)


@given(LISTS, st.integers(0, 60), st.integers(0, 12))
def test_a_span_is_covered_when_each_of_its_offsets_is_in_the_set(spans, begin, length):
    asked = set(range(begin, begin + length))
    assert Spans(*spans).covers(begin, begin + length) == (asked <= offsets(spans))


@given(LISTS, st.integers(0, 60))
def test_the_first_offset_outside_is_the_first_one_not_in_the_set(spans, begin):
    held = offsets(spans)
    assert Spans(*spans).first_outside(begin) == next(o for o in range(begin, 99) if o not in held)
