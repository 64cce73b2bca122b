import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.packing.count import fewest
from tests.balancer.packing.planted import loads_of, lognormal, planted, triplets, uniform


@given(
    st.lists(st.integers(0, 20), max_size=25),
    st.integers(20, 40),
    st.none() | st.integers(1, 6),
)
def test_the_packing_proves_that_the_carriers_suffice(shares, capacity, items_max):
    found = fewest(np.array(shares, dtype=float), capacity, items_max)
    assert (found.where >= 0).all()
    loads = loads_of(np.array(shares, dtype=float), found.where, found.carriers)
    assert loads.max(initial=0) <= capacity
    assert np.bincount(found.where, minlength=1).max() <= (items_max or len(shares))
    assert found.at_least <= found.carriers <= len(shares)


def test_nine_of_ten_uniform_instances_have_the_proved_optimum():
    found = [fewest(uniform(items, seed), 150) for items in (120, 250, 500) for seed in range(4)]
    assert sum(each.carriers == each.at_least for each in found) >= 11
    assert all(each.carriers <= each.at_least + 1 for each in found)


@pytest.mark.parametrize("items", [60, 120])
def test_triplets_need_one_carrier_more_than_the_optimum_at_most(items):
    for seed in range(2):
        assert fewest(triplets(items, seed), 1000).carriers <= items // 3 + 1


@pytest.mark.parametrize("each", [5, 30])
def test_a_planted_instance_needs_at_most_one_carrier_more(each):
    assert fewest(planted(100, each, 0), 1.0).carriers <= 101


def test_many_items_need_as_many_carriers_as_their_sum():
    shares = lognormal(20_000, 0)
    found = fewest(shares, float(shares.sum()) / 99.5)
    assert found.carriers == found.at_least == 100


@pytest.mark.parametrize("items", [100, 20_001])
def test_items_just_above_a_third_of_the_capacity_have_the_proved_optimum(items):
    found = fewest(np.full(items, 0.34), 1.0)
    assert found.carriers == found.at_least == -(-items // 2)


def test_tenths_that_add_up_to_the_capacity_fit():
    assert fewest(np.array([0.1] * 10 + [0.2] * 10), 0.3).carriers == 10


def test_idle_items_have_a_carrier():
    assert fewest(np.zeros(3), 1.0).where.tolist() == [0, 0, 0]


def test_a_threshold_of_seventy_percent_of_ten_megabytes_leaves_seven():
    """Tasks of 10 MB/s at a threshold of 70 %: 69 MB/s need ten tasks, 71 MB/s need eleven."""
    for total, tasks in ((69, 10), (71, 11)):
        assert fewest(np.full(total * 10, 0.1), 10 * 0.7).carriers == tasks


def test_the_same_items_are_counted_and_packed_the_same_way():
    first, second = (fewest(triplets(60, 1), 1000) for _ in range(2))
    assert first.where.tobytes() == second.where.tobytes()


def test_a_share_above_the_capacity_is_refused():
    with pytest.raises(ValueError, match="a share of 11 is above the capacity of 10"):
        fewest(np.array([1.0, 11.0]), 10)
