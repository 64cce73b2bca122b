import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.carriers_wanted import Wanted, carriers_wanted
from balancer.decision.limits import Limits

LIMITS = Limits(carriers_min=2, carriers_max=10, threshold=0.7, calm_rounds=3)


def of(total):
    return np.full(round(total * 100), 0.01)


@pytest.mark.parametrize(("total", "carriers"), [(0.0, 2), (1.5, 3), (6.9, 10), (9.0, 10)])
def test_there_are_as_many_as_the_threshold_asks_for_within_the_limits(total, carriers):
    assert carriers_wanted(of(total), LIMITS).carriers == carriers


def test_what_the_limits_lack_is_said():
    found = carriers_wanted(of(9.0), LIMITS)
    assert (found.needed, found.lacking) == (13, 3)


def test_each_hot_share_has_a_carrier_of_its_own():
    assert carriers_wanted(np.array([0.8, 5.0, 0.3, 0.3]), LIMITS).needed == 3


def test_more_are_there_at_once_and_fewer_only_after_calm_rounds():
    wanted = carriers_wanted(of(3.4), LIMITS, present=2)
    assert wanted.carriers == 5
    seen = []
    for _ in range(4):
        wanted = carriers_wanted(
            of(1.5), LIMITS, present=wanted.carriers, calm_rounds=wanted.calm_rounds
        )
        seen.append(wanted.carriers)
    assert seen == [5, 5, 3, 3]


def test_a_round_that_needs_them_again_begins_the_calm_anew():
    first = carriers_wanted(of(1.5), LIMITS, present=5, calm_rounds=1)
    again = carriers_wanted(of(3.4), LIMITS, present=5, calm_rounds=first.calm_rounds)
    assert (first.calm_rounds, again.calm_rounds) == (2, 0)
    assert carriers_wanted(of(1.5), LIMITS, present=5, calm_rounds=0).carriers == 5


def test_a_lowered_limit_is_obeyed_at_once():
    assert carriers_wanted(of(1.5), LIMITS, present=20).carriers == 3


def test_partitions_need_carriers_even_if_idle():
    limits = Limits(partitions_max=10)
    assert carriers_wanted(np.zeros(95), limits) == Wanted(10, 10, 10, 0)


@given(st.lists(st.floats(0, 2), max_size=30), st.integers(0, 12), st.integers(0, 5))
def test_it_is_always_within_the_limits_or_what_there_is(shares, present, calm):
    found = carriers_wanted(np.array(shares), LIMITS, present=present, calm_rounds=calm)
    assert 2 <= found.carriers <= 10
    assert found.at_least <= found.needed
