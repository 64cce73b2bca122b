from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.packing.certificate import LARGER_MAX, moves_at_least
from balancer.packing.packing import Packing
from balancer.packing.shares import HOMELESS


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
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("balancer.packing.certificate.LARGER_MAX", larger_max)
        certificate = moves_at_least(Packing(shares, where, np.array(base, dtype=float)), limit)
    placed = np.flatnonzero(where != HOMELESS)
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


def test_what_is_within_the_limit_needs_no_move():
    assert moves_at_least(Packing(np.ones(2), np.array([0, 1]), np.zeros(2)), 1.0) == 0


def test_a_large_item_goes_only_where_others_make_room():
    shares = np.array([10.0, 1, 1, 1, *[2.5] * 12])
    where = np.array([0, 0, 0, 0, *np.repeat([1, 2, 3], 4)])
    assert moves_at_least(Packing(shares, where, np.zeros(4)), 11.3) == 2


def test_several_large_items_may_be_too_large_for_any_room():
    shares = np.array([10.0, 10, 10, 0.5, 0.5, 0.5, *[7.25] * 12])
    where = np.array([0] * 6 + [*np.repeat([1, 2, 3], 4)])
    assert moves_at_least(Packing(shares, where, np.zeros(4)), 30.4) == 3


def test_a_larger_item_makes_no_room_for_it_as_it_would_have_to_go_itself():
    shares = np.array([10.0, *[0.5] * 6, 10.5, *[2.5] * 8])
    where = np.array([0] * 7 + [1] + [*np.repeat([2, 3], 4)])
    assert moves_at_least(Packing(shares, where, np.zeros(4)), 11.4) == 4


def test_large_items_that_can_be_exchanged_do_not_hide_that():
    shares = np.array([10.0, *[0.5] * 6, 8.0, *[2.5] * 8])
    where = np.array([0] * 7 + [1] + [*np.repeat([2, 3], 4)])
    assert moves_at_least(Packing(shares, where, np.zeros(4)), 11.4) == 2
