import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.packing.fresh import packed
from balancer.packing.shares import UNPLACED
from balancer.packing.sticky import repaired
from tests.balancer.packing.planted import drifted, loads_of, lognormal
from tests.balancer.packing.rivals import count_sticky, load_based

CARRIERS = 100


def placed(items=5_000, seed=0):
    shares = lognormal(items, seed)
    return shares, packed(shares, np.zeros(CARRIERS)).where


@pytest.mark.parametrize("drift", [0.1, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_a_drift_is_repaired_with_about_as_few_moves_as_any_plan_needs(drift, seed):
    shares, where = placed(seed=seed)
    shares = drifted(shares, drift, seed)
    found = repaired(shares, where, np.zeros(CARRIERS), 0.05)
    assert found.is_within
    assert loads_of(shares, found.where, CARRIERS).max() <= found.limit * (1 + 1e-9)
    assert found.moves == (found.where != where).sum()
    assert found.certificate <= found.moves <= 2.2 * found.certificate


def test_a_packing_within_the_limit_is_left_alone():
    shares, where = placed()
    for seed in range(20):
        jittered = shares * np.random.default_rng(seed).uniform(0.95, 1.05, len(shares))
        found = repaired(jittered, where, np.zeros(CARRIERS), 0.05)
        assert (found.moves, found.certificate) == (0, 0)
        assert found.where.tobytes() == where.tobytes()


def test_nearly_only_the_items_of_a_lost_carrier_move():
    shares, where = placed()
    where = np.where(where == CARRIERS - 1, UNPLACED, where)
    found = repaired(shares, where, np.zeros(CARRIERS - 1), 0.05)
    assert found.is_within
    assert (found.where != UNPLACED).all()
    assert found.moves <= 5


def test_a_carrier_is_emptied_for_a_new_hot_item():
    shares, where = placed(500)
    hot = shares.sum() / 10
    shares, where = np.append(shares, hot), np.append(where, UNPLACED)
    found = repaired(shares, where, np.zeros(CARRIERS), 0.05)
    assert found.is_within
    assert shares[found.where == found.where[-1]].sum() <= 1.05 * hot
    assert found.moves <= 5


def test_base_load_counts_and_is_not_moved():
    shares, base = np.ones(40), np.array([20.0, 0, 0, 0])
    found = repaired(shares, np.repeat(np.arange(4), 10), base, 0.05)
    assert loads_of(shares, found.where, 4).tolist() == [1, 13, 13, 13]
    assert found.moves == found.certificate == 9


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(UNPLACED, 2)), min_size=1, max_size=10),
    st.lists(st.integers(0, 5), min_size=3, max_size=3),
)
def test_with_little_room_every_item_keeps_a_carrier_within_its_room(items, free):
    shares = np.array([share for share, _ in items], dtype=float)
    where = np.array([carrier for _, carrier in items])
    held = np.bincount(where[where != UNPLACED], minlength=3)
    found = repaired(shares, where, np.zeros(3), 0.05, held + np.array(free))
    assert (found.where[where != UNPLACED] != UNPLACED).all()
    now = np.bincount(found.where[found.where != UNPLACED], minlength=3)
    assert (now <= held + free).all()
    moved = (where != UNPLACED) & (found.where != where)
    assert found.moves == moved.sum()


def test_items_on_one_carrier_are_spread():
    shares = lognormal(20_000, 0)
    found = repaired(shares, np.zeros(20_000, dtype=np.int64), np.zeros(CARRIERS), 0.05)
    assert found.is_within
    assert found.certificate <= found.moves < 20_000


def test_items_without_room_stay_unplaced():
    where = np.array([0, 0, UNPLACED])
    found = repaired(np.ones(3), where, np.zeros(1), 0.05, np.array([2]))
    assert found.where.tolist() == [0, 0, UNPLACED]


@pytest.mark.parametrize("seed", range(3))
def test_a_repair_after_drift_and_new_hot_items_beats_both_rivals(seed):
    shares, where = placed(seed=seed)
    later = np.append(drifted(shares, 0.3, seed), np.full(20, shares.sum() / CARRIERS / 2))
    new = np.append(where, np.full(20, UNPLACED))
    ours = repaired(later, new, np.zeros(CARRIERS), 0.05)
    rivals = load_based(later, new, CARRIERS, seed=seed), count_sticky(new, CARRIERS)
    heaviest = loads_of(later, ours.where, CARRIERS).max()
    assert all(heaviest < loads_of(later, rival, CARRIERS).max() for rival in rivals)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0])
def test_a_first_packing_is_no_worse_than_both_rivals(sigma):
    shares = lognormal(2_000, 3, sigma)
    nobody = np.full(len(shares), UNPLACED)
    heaviest = packed(shares, np.zeros(CARRIERS)).heaviest
    rivals = load_based(shares, nobody, CARRIERS), count_sticky(nobody, CARRIERS)
    assert all(heaviest <= loads_of(shares, rival, CARRIERS).max() for rival in rivals)
