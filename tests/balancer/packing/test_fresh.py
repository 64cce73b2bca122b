import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.packing.bounds import ROUNDING, heaviest_at_least
from balancer.packing.fresh import TOLERANCE, level, packed
from balancer.packing.longest_first import longest_first
from balancer.packing.packing import Packing
from balancer.packing.shares import UNPLACED
from tests.balancer.packing.planted import loads_of, lognormal, planted


def test_a_carrier_above_the_goal_by_rounding_only_is_left_alone():
    shares = np.array([1.0 + TOLERANCE, 0.5]) * (1 + ROUNDING / 2)
    packing = Packing(shares, np.array([0, 1]), np.zeros(2))
    level(packing, 1.0)
    assert packing.where.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("each", "carriers", "at_most"),
    [(100, 200, 1.0001), (20, 200, 1.001), (5, 150, 1.005), (3, 150, 1.02), (3, 60, 1.02)],
)
def test_a_planted_optimum_is_nearly_reached(each, carriers, at_most):
    for seed in range(3):
        packing = packed(planted(carriers, each, seed), np.zeros(carriers))
        assert packing.heaviest <= at_most


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=30),
    st.lists(st.floats(0, 100), min_size=1, max_size=5),
)
def test_a_packing_is_between_longest_first_and_the_bound(shares, base):
    shares, base = np.array(shares), np.array(base)
    packing = packed(shares, base)
    loads = base + loads_of(shares, packing.where, len(base))
    first = base + loads_of(shares, longest_first(shares, base), len(base))
    assert loads.max() <= first.max() + 1e-9
    assert loads.max() >= heaviest_at_least(shares, len(base), base) - 1e-9


def test_a_hot_item_is_alone_as_long_as_the_others_have_carriers():
    shares = np.append(lognormal(500, 0), 10_000.0)
    where = packed(shares, np.zeros(10)).where
    assert (where == where[-1]).sum() == 1


def test_no_carrier_holds_more_items_than_its_room():
    packing = packed(lognormal(100, 0, 2.0), np.zeros(4), np.array([10, 20, 30, 30]))
    assert np.bincount(packing.where[packing.where >= 0]).tolist() == [10, 20, 30, 30]
    assert (packing.where == UNPLACED).sum() == 10


def test_the_same_loads_are_packed_the_same_way():
    shares = planted(60, 3, 0)
    first, second = (packed(shares, np.zeros(60)).where for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_denormal_loads_end_the_exchanges_too():
    tiny = 5e-324
    packing = packed(np.array([tiny] * 3), np.array([0.0, 2 * tiny]))
    assert packing.heaviest in (2 * tiny, 3 * tiny)
