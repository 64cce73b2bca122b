"""The cost of carrying is learned only from carriers that lag."""

import random
from dataclasses import replace

import pytest

from balancer.demand.load_model import WINDOWS_MIN, Factors, LoadModel
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.placement.rounds.calibration import BEHIND_SECONDS, Calibration

TRUE = Factors(4e-9, 3e-6)
DEFAULT = LoadModel(Factors(1e-9, 1e-8), Factors(1e-9, 1e-6))
ROUND_SECONDS = 15.0
WINDOWS = 40


def report(carrier, rate, size, *, lag=10**9, opened_part=0.0, age=0.0, parked=None):
    """Returns a report with the time of its age before 0."""
    return PartitionReport(
        "r", "t", carrier, carrier, rate, rate * size, 1, 1, lag, 60.0, parked, -age, opened_part
    )


def saturated(carrier, size, **more):
    """Returns the report of a carrier that is saturated by records of this size in bytes."""
    rate = 1 / (TRUE.per_byte * size + TRUE.per_record)
    return report(carrier, rate, size, **more)


def costs_after(*rounds):
    """Returns the costs after rounds of reports, the first of them one period after the start."""
    calibration = Calibration()
    calibration.observe([], 0.0)
    for number, reports in enumerate(rounds, 1):
        now = number * ROUND_SECONDS
        calibration.observe([replace(each, at=now + each.at) for each in reports], now)
    return calibration.costs(DEFAULT)


def of_sizes(count=WINDOWS, **more):
    chance = random.Random(1)
    sizes = [chance.choice([50, 200, 1000, 5000]) for _ in range(count)]
    return [[saturated(0, size, **more)] for size in sizes]


@pytest.mark.parametrize(("opened_part", "kind"), [(0.0, "unopened"), (1.0, "opened")])
def test_the_costs_of_bytes_and_records_are_found_again(opened_part, kind):
    found = costs_after(*of_sizes(opened_part=opened_part))
    factors = getattr(found, kind)
    assert factors.per_byte == pytest.approx(TRUE.per_byte, rel=0.01)
    assert factors.per_record == pytest.approx(TRUE.per_record, rel=0.01)
    assert found == replace(DEFAULT, **{kind: factors})


@pytest.mark.parametrize(
    "more",
    [
        {"lag": 0},
        {"opened_part": 0.5},
        {"parked": "source log was truncated"},
    ],
)
def test_carriers_that_are_idle_or_mix_batches_or_are_parked_give_no_window(more):
    assert costs_after(*of_sizes(**more)) == DEFAULT


@pytest.mark.parametrize("ahead_seconds", [-3600.0, -60.0, 60.0, 3600.0])
def test_a_carrier_counts_by_whatever_clock_it_reports(ahead_seconds):
    rounds = of_sizes(age=-ahead_seconds)
    assert costs_after(*rounds) == costs_after(*of_sizes()) != DEFAULT


@pytest.mark.parametrize("ahead_seconds", [-60.0, 0.0, 1e9])
def test_a_carrier_that_reports_no_more_gives_no_window(ahead_seconds):
    calibration = Calibration()
    calibration.observe([], 0.0)
    for number, (each,) in enumerate(of_sizes(), 1):
        calibration.observe([replace(each, at=ahead_seconds)], number * ROUND_SECONDS)
    assert calibration.costs(DEFAULT) == DEFAULT


def test_a_carrier_counts_once_it_was_behind_in_two_rounds_in_a_row():
    rounds = of_sizes(WINDOWS_MIN + 1)
    assert costs_after(*rounds[:-1]) == DEFAULT
    assert costs_after(*rounds) != DEFAULT
    idle = [report(0, 10.0, 1000, lag=0)]
    between = [each for busy in of_sizes() for each in (busy, idle)]
    assert costs_after(*between) == DEFAULT


def test_the_first_observation_of_a_process_gives_no_window():
    calibration = Calibration()
    for number, reports in enumerate(of_sizes(WINDOWS_MIN + 1)):
        now = number * ROUND_SECONDS
        calibration.observe([replace(each, at=now) for each in reports], now)
    assert calibration.costs(DEFAULT) == DEFAULT


def test_little_lag_is_no_saturation():
    rounds = [
        [replace(each, lag_records=int(each.records_per_second * BEHIND_SECONDS) - 1)]
        for (each,) in of_sizes()
    ]
    assert costs_after(*rounds) == DEFAULT
