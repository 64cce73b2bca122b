"""The cost of carrying is learned only from carriers that lag."""

import random

import pytest

from balancer.demand.load_model import Factors
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.placement.rounds.calibration import BEHIND_SECONDS, Calibration

TRUE = Factors(4e-9, 3e-6)
DEFAULT = Factors(1e-9, 1e-8), Factors(1e-9, 1e-6)


def report(carrier, rate, size, *, lag=10**9, opened_part=0.0, at=100.0, parked=None):
    return PartitionReport(
        "r", "t", carrier, carrier, rate, rate * size, 1, 1, lag, 60.0, parked, at, opened_part
    )


def saturated(carrier, size, **more):
    """Returns the report of a carrier that is saturated by records of this size in bytes."""
    rate = 1 / (TRUE.per_byte * size + TRUE.per_record)
    return report(carrier, rate, size, **more)


def observed(*looks, seconds=15.0):
    calibration = Calibration()
    for reports in looks:
        calibration.observe(reports, 100.0, seconds)
    return calibration


def of_sizes(**more):
    chance = random.Random(1)
    sizes = [chance.choice([50, 200, 1000, 5000]) for _ in range(40)]
    return [[saturated(0, size, **more)] for size in sizes]


def unopened_windows(calibration):
    return len(calibration._windows[False])


@pytest.mark.parametrize(("opened_part", "which"), [(0.0, 0), (1.0, 1)])
def test_what_bytes_and_records_cost_is_found_again(opened_part, which):
    found = observed(*of_sizes(opened_part=opened_part)).factors(*DEFAULT)
    assert found[which].per_byte == pytest.approx(TRUE.per_byte, rel=0.01)
    assert found[which].per_record == pytest.approx(TRUE.per_record, rel=0.01)
    assert found[1 - which] == DEFAULT[1 - which]


@pytest.mark.parametrize(
    "more",
    [
        {"lag": 0},
        {"opened_part": 0.5},
        {"at": 10.0},
        {"parked": "source log was truncated"},
    ],
)
def test_carriers_that_have_time_left_or_mix_or_are_silent_tell_nothing(more):
    calibration = observed(*of_sizes(**more))
    assert not any(calibration._windows.values())
    assert calibration.factors(*DEFAULT) == DEFAULT


def test_a_carrier_counts_once_it_was_behind_at_two_looks_in_a_row():
    busy, idle = [saturated(0, 1000)], [report(0, 10.0, 1000, lag=0)]
    assert unopened_windows(observed(busy)) == 0
    assert unopened_windows(observed(busy, idle, busy)) == 0
    assert unopened_windows(observed(busy, busy)) == 1


def test_little_lag_is_no_saturation():
    rate = 1000.0
    lag = int(rate * BEHIND_SECONDS) - 1
    looks = [[report(0, rate, 100, lag=lag)]] * 10
    assert unopened_windows(observed(*looks)) == 0
