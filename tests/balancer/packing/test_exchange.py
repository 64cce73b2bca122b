import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from balancer.packing.exchange import Effort, relieve
from balancer.packing.packing import Packing

CARRIERS = 3


def packing_of(*carriers, room=None):
    shares = np.array([share for held in carriers for share in held], dtype=float)
    where = np.repeat(np.arange(len(carriers)), [len(held) for held in carriers])
    room = None if room is None else np.array(room)
    return Packing(shares, where, np.zeros(len(carriers)), room)


def test_an_item_moves_to_a_carrier_where_it_fits():
    packing = packing_of([6, 5], [1])
    assert relieve(packing, 7, Effort())
    assert sorted(packing.loads.tolist()) == [6, 6]


def test_without_room_an_item_is_exchanged_for_a_smaller_one():
    packing = packing_of([6, 5], [4, 4], room=[2, 2])
    assert relieve(packing, 10, Effort())
    assert packing.counts.tolist() == [2, 2]
    assert packing.heaviest == 10


def test_a_chain_passes_load_on_through_other_carriers():
    # Only 8 + 6, 8 + 6 and 9 + 3 + 2 stay within 14, and no single exchange leads there.
    packing = packing_of([9, 8], [8, 3], [6, 6, 2], room=[2, 2, 3])
    assert relieve(packing, 14, Effort())
    assert packing.heaviest <= 14


def test_without_budget_nothing_is_exchanged():
    packing = packing_of([6, 5], [1])
    assert Effort(0).is_spent
    assert not relieve(packing, 7, Effort(0))
    assert packing.where.tolist() == [0, 0, 1]


def test_no_chain_makes_a_carrier_heavier_than_the_heaviest():
    packing = packing_of([6], [28], [12, 5, 7])
    relieve(packing, 10, Effort())
    assert packing.heaviest == 28


def test_a_sample_of_very_many_items_is_examined():
    shares = np.append([10.0, 7, 6, 6], np.zeros(40_000))
    where = np.append([0, 1, 1, 0], np.arange(40_000) % 2)
    packing = Packing(shares, where, np.zeros(2))
    assert not relieve(packing, 15.2, Effort(1_000))
    assert relieve(packing, 16, Effort())


def test_a_failed_search_returns_false():
    assert not relieve(packing_of([9], [1]), 7, Effort())


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=14),
    st.data(),
)
def test_exchanges_keep_all_items_and_increase_neither_excess_nor_heaviest(shares, data):
    place = st.integers(0, CARRIERS - 1)
    where = data.draw(st.lists(place, min_size=len(shares), max_size=len(shares)))
    limit = data.draw(st.integers(1, 60))
    packing = Packing(np.array(shares, dtype=float), np.array(where), np.zeros(CARRIERS))
    before, heaviest = packing.loads.copy(), packing.heaviest
    is_within = relieve(packing, limit, Effort())
    assert packing.loads.sum() == sum(shares)
    assert np.maximum(0, packing.loads - limit).sum() <= np.maximum(0, before - limit).sum()
    assert packing.heaviest <= max(heaviest, limit)
    assert is_within == (packing.heaviest <= limit)
