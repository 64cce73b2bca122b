"""Plans: their JSON text is complete, and tasks never outnumber slots."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.carrier_plan import CarrierId, Plan, carriers_by_task, carriers_shared_out
from balancer.topic_partition import TopicPartition

places = st.builds(TopicPartition, st.sampled_from("abcde"), st.integers(0, 12))
routes = st.sampled_from(["east.east", "west.east", "north.east"])
loads = st.frozensets(places, max_size=6).map(sorted).map(tuple)
carriers = st.builds(CarrierId, routes, st.integers(0, 5))
plans = st.builds(Plan, st.integers(0, 9), st.dictionaries(carriers, loads, max_size=12))


@given(plans)
def test_a_plan_is_read_as_it_was_written(plan):
    assert Plan.from_json(plan.to_json()) == plan


@given(plans, st.integers(1, 9))
def test_tasks_hold_every_busy_carrier_once_and_never_outnumber_the_slots(plan, slots):
    found = carriers_by_task(plan, slots)
    busy = [carrier for carrier, load in plan.loads.items() if load]
    assert len(found) == min(slots, len(busy))
    assert sorted(carrier for each in found for carrier in each) == sorted(busy)


@given(plans, st.integers(1, 9))
def test_tasks_share_out_every_route_evenly(plan, slots):
    found = carriers_by_task(plan, slots)
    sizes = [len(each) for each in found] or [0]
    assert max(sizes) - min(sizes) <= 1
    for route in {carrier.route for carrier in plan.loads}:
        shares = [sum(carrier.route == route for carrier in each) for each in found] or [0]
        assert max(shares) - min(shares) <= 1


@given(st.frozensets(routes, min_size=1), st.integers(1, 20))
def test_all_slots_are_shared_out_and_every_route_gets_a_carrier(some, slots):
    shares = carriers_shared_out(some, slots)
    assert set(shares) == some and min(shares.values()) >= 1
    assert sum(shares.values()) == max(slots, len(some))


def test_tasks_without_a_slot_are_refused():
    with pytest.raises(ValueError, match="no task slots"):
        carriers_by_task(Plan(), 0)
