"""Sets of offsets kept as spans behave as sets."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from replicator.mirror.offset_map.spans import Span, Spans

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
