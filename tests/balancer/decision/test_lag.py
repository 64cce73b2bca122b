from balancer.decision.lag import Lag
from balancer.decision.settings import Rules
from tests.balancer.decision.routes import at

RULES = Rules(lag_seconds_max=30, lag_patience_seconds=60)


def after(*observations, step_ms=30_000):
    lag, now_ms = Lag(), 0
    for observation in observations:
        lag = lag.observed(observation, RULES, now_ms)
        now_ms += step_ms
    return lag.lagging(RULES, now_ms - step_ms)


def test_a_partition_lags_once_it_has_been_behind_for_the_patience():
    behind = {at(1): 31.0, at(0): 40.0, at(2): 30.0}
    assert after(behind, behind) == ()
    assert after(behind, behind, behind) == (at(0), at(1))


def test_a_partition_that_caught_up_in_between_does_not_lag():
    assert after({at(0): 99.0}, {at(0): 3.0}, {at(0): 99.0}) == ()


def test_a_lag_that_is_unknown_for_one_round_counts_as_it_was():
    behind = {at(0): 99.0}
    assert after(behind, {}, behind) == (at(0),)
    assert after(behind, behind, {}) == (at(0),)


def test_a_partition_whose_lag_is_unknown_for_rounds_does_not_lag():
    behind = {at(0): 99.0}
    assert after(behind, {}, {}, {}, {}, behind) == ()
    assert after(behind, behind, behind, {}, {}, {}, {}) == ()


def test_a_clock_that_went_back_does_not_hide_lag():
    lag = Lag({at(0): 10**15}).observed({at(0): 99.0}, RULES, 0)
    assert lag.lagging(RULES, 60_000) == (at(0),)


def test_lag_that_outlasts_a_sticky_plan_is_reported_until_a_full_plan():
    lag = Lag({at(0): 0}).observed({at(0): 99.0}, RULES, 60_000)
    assert not lag.stays(RULES, 60_000)
    planned = lag.planned(60_000, is_full_plan=False)
    assert [planned.stays(RULES, now_ms) for now_ms in (119_000, 120_000)] == [False, True]
    assert not planned.planned(120_000, is_full_plan=True).stays(RULES, 999_000)


def test_plans_are_forgotten_once_no_partition_lags():
    planned = Lag({at(0): 0}).planned(60_000, is_full_plan=True)
    assert planned.observed({at(0): 5.0}, RULES, 70_000) == Lag({})
