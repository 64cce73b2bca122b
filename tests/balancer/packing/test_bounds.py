from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.packing.bounds import carriers_at_least, heaviest_at_least
from tests.balancer.packing.planted import planted, triplets

SHARES = st.lists(st.integers(0, 12), min_size=1, max_size=7)


def lightest_heaviest(shares, carriers, base):
    return min(
        max(
            base[carrier] + sum(s for s, at in zip(shares, where, strict=True) if at == carrier)
            for carrier in range(carriers)
        )
        for where in product(range(carriers), repeat=len(shares))
    )


@given(SHARES, st.integers(1, 3), st.integers(0, 9))
def test_no_packing_has_a_heaviest_carrier_below_the_bound(shares, carriers, first):
    base = [float(first), *[0.0] * (carriers - 1)]
    bound = heaviest_at_least(np.array(shares, dtype=float), carriers, np.array(base))
    assert bound <= lightest_heaviest(shares, carriers, base) + 1e-9


@given(st.lists(st.integers(0, 12), max_size=6), st.integers(12, 20), st.sampled_from([1, 3, 10]))
def test_no_packing_needs_fewer_carriers_than_the_bound(shares, capacity, parts):
    """Holds also when rounding makes sums of thirds and tenths inexact."""
    bound = carriers_at_least(np.array(shares) / parts, capacity / parts)
    fewer = bound - 1
    if fewer > 0:
        assert lightest_heaviest(shares, fewer, [0] * fewer) > capacity
    assert min(1, len(shares)) <= bound <= len(shares)


def test_the_bound_sees_that_equal_items_pile_up():
    assert heaviest_at_least(np.array([3.0, 3, 3]), 2) == 6
    assert heaviest_at_least(np.array([3.0, 3, 3, 3, 3]), 2) == 9


@pytest.mark.parametrize("each", [1, 2, 5])
def test_the_bound_of_a_planted_instance_is_its_optimum(each):
    assert heaviest_at_least(planted(50, each, 0), 50) == pytest.approx(1.0)


def test_items_above_half_the_capacity_need_a_carrier_each():
    assert carriers_at_least(np.array([6.0, 6, 6, 4]), 10) == 3
    assert carriers_at_least(np.array([6.0, 6, 6, 5]), 10) == 4


def test_triplets_need_a_third_of_their_number():
    assert carriers_at_least(triplets(120, 0), 1000) == 40


def test_an_item_above_the_capacity_needs_one_carrier():
    assert carriers_at_least(np.array([30.0]), 10) == 1


def test_items_max_needs_carriers_for_idle_items():
    assert carriers_at_least(np.zeros(100), 10.0, items_max=30) == 4


def test_items_above_a_third_of_the_capacity_need_half_their_number():
    assert carriers_at_least(np.full(300, 0.34), 1.0) == 150


@pytest.mark.parametrize("items_max", [0, -1])
def test_items_max_below_one_is_refused(items_max):
    with pytest.raises(ValueError, match="hold nothing"):
        carriers_at_least(np.ones(3), 1.0, items_max)


def test_a_packing_without_carriers_is_refused():
    with pytest.raises(ValueError, match="give one or more"):
        heaviest_at_least(np.ones(3), 0)


def test_rounding_adds_no_carrier():
    assert carriers_at_least(np.full(30, 0.1), 1.0) == 3


@pytest.mark.parametrize("capacity", [0.0, -1.0, float("nan")])
def test_a_capacity_that_is_not_above_zero_is_refused(capacity):
    with pytest.raises(ValueError, match="give one above 0"):
        carriers_at_least(np.array([1.0]), capacity)


def test_no_items_need_no_carrier():
    assert carriers_at_least(np.array([]), 1.0) == 0
    assert heaviest_at_least(np.array([]), 3) == 0
