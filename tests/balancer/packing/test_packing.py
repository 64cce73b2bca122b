import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from balancer.packing.packing import Packing
from balancer.packing.shares import HOMELESS

CARRIERS = 4


@given(
    st.lists(st.integers(HOMELESS, CARRIERS - 1), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 11), st.integers(HOMELESS, CARRIERS - 1)), max_size=20),
)
def test_loads_counts_and_items_stay_what_the_places_of_all_items_say(where, puts):
    shares = np.arange(1.0, len(where) + 1)
    base = np.array([10.0, 0, 0, 5])
    packing = Packing(shares, np.array(where), base)
    for item, carrier in puts:
        packing.put(item % len(where), carrier)
    for carrier in range(CARRIERS):
        items = np.flatnonzero(packing.where == carrier)
        assert sorted(packing.held(carrier).tolist()) == items.tolist()
        assert packing.counts[carrier] == len(items)
        assert packing.loads[carrier] == base[carrier] + shares[items].sum()
    assert packing.heaviest == packing.loads.max()


def test_what_it_was_made_from_stays_as_it_was():
    where = np.array([0, 1])
    Packing(np.ones(2), where, np.zeros(2)).put(0, 1)
    assert where.tolist() == [0, 1]
