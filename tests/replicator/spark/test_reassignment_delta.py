"""A reassignment delta leads every carrier to the present plan, whichever plan it began with."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.plan import CarrierId, Plan, TopicPartition
from replicator.spark.reassignment_delta import BYTES_MAX, ReassignmentDelta, busy, continued

ROUTES = ("east.east", "west.east")
PLACES = [TopicPartition(topic, number) for topic in ("a", "a-0", "ü") for number in range(3)]
wheres = st.fixed_dictionaries(
    {(route, place): st.none() | st.integers(0, 3) for route in ROUTES for place in PLACES}
)
"""Carriers by partition; None for one that is paused, deleted, or not there yet."""
histories = st.lists(wheres, min_size=1, max_size=6)


def plan_of(where, version):
    carriers = {CarrierId(route, number): [] for route in ROUTES for number in range(4)}
    for (route, place), number in sorted(where.items()):
        if number is not None:
            carriers[CarrierId(route, number)].append(place)
    return Plan(version, {carrier: tuple(load) for carrier, load in carriers.items()})


def courses(history):
    """Returns the plans, and the delta of each, up to the first that takes a new epoch."""
    plans = [plan_of(where, number) for number, where in enumerate(history, 1)]
    found, running = [ReassignmentDelta(1)], busy(plans[0])
    for before, after in pairwise(plans):
        course = continued(found[-1], before, after, running, {})
        if course is None:
            break
        found.append(course)
        running &= busy(after)
    return plans[: len(found)], found


def own(plan, course, carrier):
    """Returns the partitions that a carrier of the plan has once it has applied the delta."""
    moved = course.of_route(carrier.route)
    begun = plan.loads[carrier]
    kept = {place for place in begun if moved.get(place, carrier.number) == carrier.number}
    return kept | {place for place, number in moved.items() if number == carrier.number}


@given(histories)
def test_whatever_plan_a_carrier_began_with_the_course_leads_it_to_the_plan_of_now(history):
    plans, found = courses(history)
    for begun in plans:
        for carrier, load in plans[-1].loads.items():
            assert own(begun, found[-1], carrier) == set(load)


@given(histories)
def test_a_course_read_back_from_its_text_is_the_same(history):
    _, found = courses(history)
    assert ReassignmentDelta.decode(1, found[-1].encode()) == found[-1]


@given(wheres, wheres)
def test_a_carrier_that_does_not_run_is_given_nothing_within_an_epoch(one, other):
    before, after = plan_of(one, 1), plan_of(other, 2)
    needed = {
        CarrierId(route, number)
        for (route, place), number in other.items()
        if number is not None and one[route, place] != number
    }
    for carrier in needed:
        running = busy(before) - {carrier}
        assert continued(ReassignmentDelta(1), before, after, running, {}) is None


def test_what_comes_and_what_goes_is_all_that_is_told():
    stays, goes, comes = ((ROUTES[0], place) for place in PLACES[:3])
    before, after = plan_of({stays: 0, goes: 1}, 1), plan_of({stays: 0, comes: 1}, 2)
    limits = {PLACES[0].topic: 5, "b": 7}
    found = continued(ReassignmentDelta(1), before, after, busy(before), limits)
    assert found == ReassignmentDelta(1, {goes: None, comes: 1}, {PLACES[0].topic: 5})
    again = continued(found, after, before, busy(before), limits)
    assert again and again.where == {goes: 1, comes: None}


def test_more_than_a_word_can_hold_takes_a_new_epoch():
    places = [TopicPartition(f"{number * 7919:x}", number) for number in range(3000)]
    one = {(ROUTES[0], place): at % 4 for at, place in enumerate(places)}
    other = {key: (number + 1) % 4 for key, number in one.items()}
    before, after = plan_of(one, 1), plan_of(other, 2)
    assert continued(ReassignmentDelta(1), before, after, busy(before), {}) is None
    few = {**one, **dict(list(other.items())[:100])}
    found = continued(ReassignmentDelta(1), before, plan_of(few, 2), busy(before), {})
    assert found and len(found.encode()) <= BYTES_MAX


def test_the_limits_of_topics_that_move_are_told_and_no_others():
    one = {(ROUTES[0], place): 0 for place in PLACES} | {(ROUTES[0], TopicPartition("b", 0)): 1}
    other = {**one, (ROUTES[0], PLACES[0]): 1}
    limits = {PLACES[0].topic: 5, "b": 7}
    before = plan_of(one, 1)
    found = continued(ReassignmentDelta(1), before, plan_of(other, 2), busy(before), limits)
    assert found and found.limits == {PLACES[0].topic: 5}


@pytest.mark.parametrize("text", ["?", "abcde", ReassignmentDelta(1).encode() + "x"])
def test_what_is_no_course_is_refused(text):
    with pytest.raises(ValueError):
        ReassignmentDelta.decode(1, text)
