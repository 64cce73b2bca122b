import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from balancer.packing.count import filled
from tests.balancer.packing.planted import triplets


@given(st.lists(st.integers(0, 50), max_size=40))
def test_every_item_is_on_one_carrier_and_no_carrier_exceeds_the_capacity(shares):
    shares = np.array(shares, dtype=float)
    carriers = filled(shares, 50)
    assert sorted(item for held in carriers for item in held.tolist()) == [*range(len(shares))]
    assert all(shares[held].sum() <= 50 for held in carriers)


def test_one_to_three_items_fill_a_carrier_exactly_where_possible():
    shares = np.array([70.0, 30, 60, 25, 15, 55, 20, 14, 11])
    assert [shares[held].sum() for held in filled(shares, 100)] == [100, 100, 100]


def test_the_filling_with_the_largest_item_wins_among_equal_ones():
    shares = np.array([50.0, 40, 10, 25, 25])
    assert sorted(shares[filled(shares, 100)[0]].tolist()) == [10, 40, 50]


def test_nearly_every_carrier_of_triplets_is_full():
    shares = triplets(249, 0)
    full = [held for held in filled(shares, 1000) if shares[held].sum() == 1000]
    assert len(full) > 70
