from itertools import combinations, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from balancer.packing.certificate import LARGER_MAX, moves_at_least
from balancer.packing.packing import Packing
from balancer.packing.shares import UNPLACED


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(-1, 2)), min_size=1, max_size=7),
    st.tuples(*[st.integers(0, 5)] * 3),
    st.integers(1, 40),
    st.sampled_from([1, 2, LARGER_MAX]),
)
def test_no_packing_within_the_limit_has_fewer_moves(items, base, limit, larger_max):
    """Unplaced items are left out, since they only take room."""
    shares = np.array([share for share, _ in items], dtype=float)
    where = np.array([carrier for _, carrier in items])
    packing = Packing(shares, where, np.array(base, dtype=float))
    certificate = moves_at_least(packing, limit, larger_max)
    placed = np.flatnonzero(where != UNPLACED)
    fewer = (
        (moved, places)
        for count in range(min(certificate, len(placed) + 1))
        for moved in combinations(placed, count)
        for places in product(range(3), repeat=count)
    )
    for moved, places in fewer:
        other = where.copy()
        other[list(moved)] = places
        loads = base + np.bincount(other[placed], shares[placed], 3)
        assert loads.max() > limit


def test_a_packing_within_the_limit_needs_no_move():
    assert moves_at_least(Packing(np.ones(2), np.array([0, 1]), np.zeros(2)), 1.0) == 0


def test_a_large_item_needs_moves_that_make_room_for_it():
    shares = np.array([10.0, 1, 1, 1, *[2.5] * 12])
    where = np.array([0, 0, 0, 0, *np.repeat([1, 2, 3], 4)])
    assert moves_at_least(Packing(shares, where, np.zeros(4)), 11.3) == 2


def test_several_large_items_may_be_too_large_for_any_room():
    shares = np.array([10.0, 10, 10, 0.5, 0.5, 0.5, *[7.25] * 12])
    where = np.array([0] * 6 + [*np.repeat([1, 2, 3], 4)])
    assert moves_at_least(Packing(shares, where, np.zeros(4)), 30.4) == 3


def test_a_larger_item_cannot_make_room():
    shares = np.array([10.0, *[0.5] * 6, 10.5, *[2.5] * 8])
    where = np.array([0] * 7 + [1] + [*np.repeat([2, 3], 4)])
    assert moves_at_least(Packing(shares, where, np.zeros(4)), 11.4) == 4


def test_an_exchange_of_large_items_counts_as_two_moves():
    shares = np.array([10.0, *[0.5] * 6, 8.0, *[2.5] * 8])
    where = np.array([0] * 7 + [1] + [*np.repeat([2, 3], 4)])
    assert moves_at_least(Packing(shares, where, np.zeros(4)), 11.4) == 2
