"""Markers of passed objects, and the room that an intent keeps for those to come."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.intents.intent import Intent, decode, encode
from aggregator.intents.told_markers import Marker
from aggregator.objects.intent_reserve import reserved
from aggregator.objects.passed_markers import PassedMarkers
from replicator.kafka.client.custody import Custody

# -- Passed markers: what they say follows from those that are left.

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


# -- The reserve of an intent is as long as any objects that may have to be named.

INTENT = Intent(custody=Custody.HELD, offset=0, reference=0, transactional_id="loader")


@pytest.mark.parametrize("count", [1, 2])
def test_as_many_objects_as_asked_for_have_the_longest_name_that_waits(count):
    found = reserved(count, ["a", "carrier=UA", "b"], beside={})
    assert [*found] == [f"carrier=UA.{at}" for at in range(count)]
    assert len({*found.values()}) == count, "one that equals another would be packed"
    assert decode(*encode(replace(INTENT, tables=found))).tables == found


def test_a_name_that_the_intent_has_already_is_left_out():
    assert [*reserved(1, ["a", "carrier=UA"], beside={"carrier=UA": None})] == ["a.0"]
    assert [*reserved(1, [], beside={})] == [".0"]
