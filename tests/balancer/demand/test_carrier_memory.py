"""Carrier memory: a limit allows so many partitions, and no estimate is below a measurement."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from balancer.demand.carrier_memory import MIB, carrier_bytes, partitions_within

MEASURED = Path(__file__).parents[3] / "bench" / "results" / "memory.json"


@given(st.integers(0, 1 << 40))
def test_the_result_fits_the_memory_and_one_more_partition_does_not(bytes_max):
    most = partitions_within(bytes_max)
    assert carrier_bytes(most) <= bytes_max or most == 0
    assert carrier_bytes(most + 1) > bytes_max


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 30))
def test_more_memory_never_holds_fewer_partitions(bytes_max, more):
    assert partitions_within(bytes_max) <= partitions_within(bytes_max + more)


def test_too_little_memory_holds_no_partition():
    assert partitions_within(100 * MIB) == 0


def test_no_measurement_exceeds_the_estimate():
    measured = json.loads(MEASURED.read_text())
    away = measured["redis_away_mb"]
    for row in measured["idle"]:
        assert row["peak_mb"] * 1e6 <= carrier_bytes(row["partitions"])
    for row in measured["full"]:
        peak = max(row["frozen_mb"], row["going_on_mb"], row["successor_mb"])
        assert (peak + away) * 1e6 <= carrier_bytes(row["partitions"])
