"""Passed markers: what they say follows from those that are left."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aggregator.intents.told_markers import Marker
from aggregator.objects.passed_markers import PassedMarkers

STEPS = st.lists(
    st.tuples(
        st.sampled_from("abcde"), st.integers(1, 30), st.none() | st.integers(0, 9), st.booleans()
    ),
    max_size=30,
)


@given(STEPS, st.integers(0, 30))
def test_the_summary_is_that_of_the_markers_above_the_offset(steps, offset):
    markers, wanted = PassedMarkers(), {}
    for name, end, told_at, is_dropped in steps:
        markers.put(name, Marker(end, told_at))
        wanted[name] = Marker(end, told_at)
        if is_dropped:
            markers.drop(name)
            del wanted[name]
    gone = set(markers.pass_by(offset))
    assert gone == {name for name, each in wanted.items() if each.end <= offset}
    left = {name: each for name, each in wanted.items() if each.end > offset}
    assert dict(markers) == {name: each.end for name, each in left.items()}
    told = {name: each for name, each in left.items() if each.told_at is not None}
    summary = markers.summary(offset)
    assert (summary is None) is (not told)
    if summary is not None:
        assert summary.begin == min(each.told_at or 0 for each in told.values())
        assert summary.found(told.items(), {}) == told
