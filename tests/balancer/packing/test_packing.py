import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.packing.packing import Packing
from balancer.packing.shares import UNPLACED

CARRIERS = 4


@given(
    st.lists(st.integers(UNPLACED, CARRIERS - 1), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, CARRIERS)), max_size=20),
)
def test_loads_counts_and_items_stay_consistent_with_the_carriers_of_items(where, changes):
    shares = np.arange(1.0, len(where) + 1)
    base = np.array([10.0, 0, 0, 5])
    packing = Packing(shares, np.array(where), base)
    for item, carrier in changes:
        item = np.array([item % len(where)])
        before = int(packing.where[item[0]])
        if before != UNPLACED:
            packing.take(item, before)
        if carrier < CARRIERS:
            packing.give(item, carrier)
        else:
            packing.place(item)
    for carrier in range(CARRIERS):
        items = np.flatnonzero(packing.where == carrier)
        assert sorted(packing.held(carrier).tolist()) == items.tolist()
        assert packing.counts[carrier] == len(items)
        assert packing.loads[carrier] == base[carrier] + shares[items].sum()
    assert packing.heaviest == packing.loads.max()


def test_the_given_array_is_not_changed():
    where = np.array([0, 1])
    Packing(np.ones(2), where, np.zeros(2)).take(np.array([0]), 0)
    assert where.tolist() == [0, 1]


@pytest.mark.parametrize("where", [[0, 2], [-2, 0]])
def test_an_item_on_an_unknown_carrier_is_refused(where):
    with pytest.raises(ValueError, match="items on carriers"):
        Packing(np.ones(2), np.array(where), np.zeros(2))


def test_carriers_above_a_limit_come_heaviest_first_and_rounding_does_not_count():
    packing = Packing(np.array([0.1, 0.2, 0.5, 0.4]), np.array([0, 0, 1, 2]), np.zeros(4))
    assert packing.above(0.3) == [1, 2]
