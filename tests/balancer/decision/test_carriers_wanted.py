import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.carriers_wanted import Wanted, carriers_wanted
from balancer.decision.limits import Limits
from balancer.packing.shares import BadShare

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
    found = carriers_wanted(np.array([0.8, 5.0, 0.3, 0.3]), LIMITS)
    assert (found.needed, found.at_least) == (3, 3)


def rounds(*totals, present, limits=LIMITS):
    """Returns the number of carriers after each round."""
    seen, wanted = [], None
    for total in totals:
        wanted = carriers_wanted(of(total), limits, present=present, last=wanted)
        present = wanted.carriers
        seen.append(present)
    return seen


def test_more_are_there_at_once_and_fewer_only_after_calm_rounds():
    assert rounds(3.4, 1.5, 1.5, 1.5, 1.5, present=2) == [5, 5, 5, 3, 3]


def test_a_round_that_needs_them_again_begins_the_calm_anew():
    assert rounds(1.5, 1.5, 3.4, 1.5, 1.5, 1.5, present=5) == [5, 5, 5, 5, 5, 3]


def test_after_calm_rounds_there_are_as_many_as_the_worst_of_them_needed():
    assert rounds(2.7, 2.7, 1.5, present=5) == [5, 5, 4]


def test_a_calm_that_has_ended_does_not_count_for_the_next():
    assert rounds(2.7, 2.7, 2.7, 1.5, 1.5, 1.5, present=5) == [5, 5, 4, 4, 4, 3]


def test_a_lowered_limit_is_obeyed_at_once_and_the_calm_waited_for_all_the_same():
    assert rounds(1.5, 1.5, 1.5, present=20) == [10, 10, 3]


def test_of_what_is_no_load_the_first_is_named():
    with pytest.raises(BadShare, match="item 2"):
        carriers_wanted(np.array([0.9, 0.9, float("nan")]), LIMITS)


def test_partitions_need_carriers_even_if_idle():
    limits = Limits(partitions_max=10)
    assert carriers_wanted(np.zeros(95), limits) == Wanted(10, 10, 10)


@given(st.lists(st.floats(0, 2), max_size=30), st.integers(0, 12))
def test_it_is_always_within_the_limits(shares, present):
    found = carriers_wanted(np.array(shares), LIMITS, present=present)
    assert 2 <= found.carriers <= 10
    assert found.at_least <= found.needed
