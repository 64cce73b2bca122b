"""A reassignment delta leads every carrier to the present plan, whichever plan it began with."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.carrier_plan import CarrierId, Plan
from balancer.topic_partition import TopicPartition
from replicator.spark.reassignment_delta import (
    BYTES_MAX,
    ReassignmentDelta,
    busy_carriers,
    extended_delta,
)

ROUTES = ("east.east", "west.east")
PARTITIONS = [TopicPartition(topic, number) for topic in ("a", "a-0", "ü") for number in range(3)]
wheres = st.fixed_dictionaries(
    {
        (route, partition): st.none() | st.integers(0, 3)
        for route in ROUTES
        for partition in PARTITIONS
    }
)
"""Carriers by partition; None for a partition that is paused, deleted, or not created yet."""
histories = st.lists(wheres, min_size=1, max_size=6)


def plan_of(where, version):
    carriers = {CarrierId(route, number): [] for route in ROUTES for number in range(4)}
    for (route, partition), number in sorted(where.items()):
        if number is not None:
            carriers[CarrierId(route, number)].append(partition)
    return Plan(version, {carrier: tuple(load) for carrier, load in carriers.items()})


def plans_and_deltas(history):
    """Returns the plans, and the delta of each, up to the first that needs a new epoch."""
    plans = [plan_of(where, number) for number, where in enumerate(history, 1)]
    found, running = [ReassignmentDelta(1)], busy_carriers(plans[0])
    for before, after in pairwise(plans):
        delta = extended_delta(found[-1], before, after, running, {})
        if delta is None:
            break
        found.append(delta)
        running &= busy_carriers(after)
    return plans[: len(found)], found


def own(plan, delta, carrier):
    """Returns the partitions that a carrier of the plan has once it has applied the delta."""
    moved = delta.of_route(carrier.route)
    begun = plan.loads[carrier]
    kept = {
        partition for partition in begun if moved.get(partition, carrier.number) == carrier.number
    }
    return kept | {partition for partition, number in moved.items() if number == carrier.number}


@given(histories)
def test_the_delta_leads_every_carrier_to_the_last_plan_whichever_plan_it_began_with(history):
    plans, found = plans_and_deltas(history)
    for begun in plans:
        for carrier, load in plans[-1].loads.items():
            assert own(begun, found[-1], carrier) == set(load)


@given(histories)
def test_a_decoded_delta_equals_the_encoded_one(history):
    _, found = plans_and_deltas(history)
    assert ReassignmentDelta.decode(1, found[-1].encode()) == found[-1]


@given(wheres, wheres)
def test_a_carrier_that_does_not_run_receives_nothing_within_an_epoch(one, other):
    before, after = plan_of(one, 1), plan_of(other, 2)
    needed = {
        CarrierId(route, number)
        for (route, partition), number in other.items()
        if number is not None and one[route, partition] != number
    }
    for carrier in needed:
        running = busy_carriers(before) - {carrier}
        assert extended_delta(ReassignmentDelta(1), before, after, running, {}) is None


def test_a_delta_has_only_the_partitions_that_were_added_or_removed():
    stays, goes, comes = ((ROUTES[0], partition) for partition in PARTITIONS[:3])
    before, after = plan_of({stays: 0, goes: 1}, 1), plan_of({stays: 0, comes: 1}, 2)
    limits = {PARTITIONS[0].topic: 5, "b": 7}
    found = extended_delta(ReassignmentDelta(1), before, after, busy_carriers(before), limits)
    assert found == ReassignmentDelta(1, {goes: None, comes: 1}, {PARTITIONS[0].topic: 5})
    again = extended_delta(found, after, before, busy_carriers(before), limits)
    assert again and again.where == {goes: 1, comes: None}


def test_a_delta_too_large_for_a_driver_command_needs_a_new_epoch():
    partitions = [TopicPartition(f"{number * 7919:x}", number) for number in range(3000)]
    one = {(ROUTES[0], partition): at % 4 for at, partition in enumerate(partitions)}
    other = {key: (number + 1) % 4 for key, number in one.items()}
    before, after = plan_of(one, 1), plan_of(other, 2)
    assert extended_delta(ReassignmentDelta(1), before, after, busy_carriers(before), {}) is None
    few = {**one, **dict(list(other.items())[:100])}
    found = extended_delta(ReassignmentDelta(1), before, plan_of(few, 2), busy_carriers(before), {})
    assert found and len(found.encode()) <= BYTES_MAX


def test_a_delta_has_the_limits_of_its_topics_and_no_others():
    one = {(ROUTES[0], partition): 0 for partition in PARTITIONS} | {
        (ROUTES[0], TopicPartition("b", 0)): 1
    }
    other = {**one, (ROUTES[0], PARTITIONS[0]): 1}
    limits = {PARTITIONS[0].topic: 5, "b": 7}
    before = plan_of(one, 1)
    found = extended_delta(
        ReassignmentDelta(1), before, plan_of(other, 2), busy_carriers(before), limits
    )
    assert found and found.limits == {PARTITIONS[0].topic: 5}


@pytest.mark.parametrize("text", ["?", "abcde", ReassignmentDelta(1).encode() + "x"])
def test_text_that_is_no_delta_is_refused(text):
    with pytest.raises(ValueError):
        ReassignmentDelta.decode(1, text)
