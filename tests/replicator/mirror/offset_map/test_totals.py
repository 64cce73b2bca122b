"""Totals survive the way to Redis; every latency has one bucket."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.mirror.offset_map.totals import (
    LATENCY_BOUNDS,
    CarrierTotals,
    bucket,
    packed,
    unpacked,
)


def test_totals_are_unpacked_as_they_were_packed():
    latencies = tuple(range(len(LATENCY_BOUNDS) + 1))
    totals = CarrierTotals(2, 1, latencies, 3.5, (("orders", 0, 10, 900), ("orders", 1, 0, 0)))
    assert unpacked(packed(totals)) == totals


@pytest.mark.parametrize("text", ["[1,2]", "[0,0,[1],0.0,[]]", "7", "{}"])
def test_totals_of_another_form_are_refused(text):
    with pytest.raises(ValueError, match=r"form|unpack"):
        unpacked(text)


@given(st.floats(0, 1e6))
def test_a_bucket_holds_latencies_above_the_previous_bound_up_to_its_own(seconds):
    bounds = [-1.0, *LATENCY_BOUNDS, float("inf")]
    at = bucket(seconds)
    assert bounds[at] < seconds <= bounds[at + 1]
