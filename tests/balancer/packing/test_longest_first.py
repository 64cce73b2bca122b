import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.packing.longest_first import longest_first
from balancer.packing.shares import UNPLACED
from tests.balancer.packing.planted import loads_of


@pytest.mark.parametrize("carriers", [2, 3, 10])
def test_grahams_worst_case_has_the_excess_that_he_proved(carriers):
    pairs = [size for size in range(2 * carriers - 1, carriers, -1) for _ in range(2)]
    shares = np.array([*pairs, *[carriers] * 3], dtype=float)
    where = longest_first(shares, np.zeros(carriers))
    assert loads_of(shares, where, carriers).max() == 4 * carriers - 1


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=40),
    st.integers(1, 6),
)
def test_no_carrier_exceeds_the_lightest_by_more_than_its_last_item(shares, carriers):
    shares = np.array(shares)
    where = longest_first(shares, np.zeros(carriers))
    loads = loads_of(shares, where, carriers)
    for carrier in range(carriers):
        held = shares[where == carrier]
        if len(held):
            assert loads[carrier] - held.min() <= loads.min() + 1e-9


def test_existing_loads_count():
    assert longest_first(np.array([1.0, 1]), np.array([5.0, 0])).tolist() == [1, 1]


def test_the_smallest_items_stay_unplaced_without_room():
    where = longest_first(np.array([1.0, 5, 3, 2]), np.zeros(2), np.array([1, 2]))
    assert sorted(where.tolist()) == [UNPLACED, 0, 1, 1]
    assert where[0] == UNPLACED


def test_without_carriers_all_items_stay_unplaced():
    assert longest_first(np.array([1.0]), np.zeros(0)).tolist() == [UNPLACED]
