"""Claims about plans: nothing is lost, nothing moves without need, tasks never outnumber slots."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.plan import (
    CarrierId,
    Plan,
    TopicPartition,
    bins,
    carriers_shared_out,
    sticky_round_robin,
)

places = st.builds(TopicPartition, st.sampled_from("abcde"), st.integers(0, 12))
routes = st.sampled_from(["east.east", "west.east", "north.east"])
wishes = st.dictionaries(routes, st.frozensets(places, max_size=20), min_size=1)


@st.composite
def rounds(draw, steps=4):
    """Some rounds of (partitions by route, carriers by route)."""
    return [
        (wish, {route: draw(st.integers(1, 6)) for route in wish})
        for wish in draw(st.lists(wishes, min_size=1, max_size=steps))
    ]


def planned(history):
    plan = Plan()
    for wish, carriers in history:
        plan = sticky_round_robin(wish, carriers, plan)
    return plan


def counts(plan, route):
    return [len(plan.loads[carrier]) for carrier in plan.carriers(route)]


def where(plan):
    return {(c.route, place): c for c, load in plan.loads.items() for place in load}


@given(rounds())
def test_every_partition_has_exactly_one_carrier_of_its_route(history):
    plan = planned(history)
    placed = Counter((c.route, place) for c, load in plan.loads.items() for place in load)
    wish, _ = history[-1]
    assert placed == Counter((route, place) for route in wish for place in wish[route])


@given(rounds())
def test_every_carrier_asked_for_is_listed_and_no_other(history):
    plan = planned(history)
    _, carriers = history[-1]
    assert set(plan.loads) == {CarrierId(r, n) for r, many in carriers.items() for n in range(many)}


@given(rounds(), wishes)
def test_nothing_that_stays_moves_while_the_carriers_stay(history, wish):
    before = planned(history)
    _, carriers = history[-1]
    after = sticky_round_robin(wish, {route: carriers.get(route, 3) for route in wish}, before)
    was, now = where(before), where(after)
    assert all(was[key] == now[key] for key in was.keys() & now.keys())


@given(rounds())
def test_counts_differ_by_one_at_most_once_the_carriers_changed(history):
    before = planned(history)
    wish, carriers = history[-1]
    after = sticky_round_robin(wish, {route: many + 1 for route, many in carriers.items()}, before)
    for route in wish:
        assert max(counts(after, route)) - min(counts(after, route)) <= 1


@given(wishes, st.integers(1, 6), st.integers(1, 6))
def test_a_change_of_carriers_moves_no_more_than_levelling_takes(wish, few, many):
    before = sticky_round_robin(wish, dict.fromkeys(wish, few), Plan())
    after = sticky_round_robin(wish, dict.fromkeys(wish, many), before)
    was, now = where(before), where(after)
    for route, wanted in wish.items():
        moved = sum(was[route, place] != now[route, place] for place in wanted)
        total, staying = len(wanted), min(few, many)
        rest = total % many
        shares = [total // many + (at < rest) for at in range(staying)]
        held = sorted(counts(before, route), reverse=True)
        least = total - sum(map(min, held[:staying], shares))
        assert moved <= least + abs(few - many)


@given(wishes, st.integers(1, 6))
def test_a_first_plan_is_level_and_so_is_every_topic_in_it(wish, many):
    plan = sticky_round_robin(wish, dict.fromkeys(wish, many), Plan())
    for route in wish:
        assert max(counts(plan, route)) - min(counts(plan, route)) <= 1


@given(rounds())
def test_the_same_wishes_give_the_same_plan(history):
    shuffled = [({r: sorted(w, reverse=True) for r, w in wish.items()}, c) for wish, c in history]
    assert planned(history) == planned(shuffled)


@given(rounds())
def test_the_version_grows_only_when_the_loads_change(history):
    plan = planned(history)
    wish, carriers = history[-1]
    assert sticky_round_robin(wish, carriers, plan) is plan
    extra = {**wish, "west.west": frozenset({TopicPartition("new", 0)})}
    assert sticky_round_robin(extra, {**carriers, "west.west": 1}, plan).version == plan.version + 1


@given(rounds())
def test_a_plan_read_back_from_its_text_is_the_same_plan(history):
    plan = planned(history)
    assert Plan.from_json(plan.to_json()) == plan


@given(rounds(), st.integers(1, 9))
def test_bins_hold_every_busy_carrier_once_and_never_outnumber_the_slots(history, slots):
    plan = planned(history)
    found = bins(plan, slots)
    busy = [carrier for carrier, load in plan.loads.items() if load]
    assert len(found) == min(slots, len(busy))
    assert sorted(carrier for each in found for carrier in each) == sorted(busy)


@given(rounds(), st.integers(1, 9))
def test_bins_share_out_every_route_evenly(history, slots):
    plan = planned(history)
    found = bins(plan, slots)
    sizes = [len(each) for each in found] or [0]
    assert max(sizes) - min(sizes) <= 1
    for route in {carrier.route for carrier in plan.loads}:
        shares = [sum(carrier.route == route for carrier in each) for each in found] or [0]
        assert max(shares) - min(shares) <= 1


@given(st.frozensets(routes, min_size=1), st.integers(1, 20))
def test_slots_are_shared_out_whole_and_every_route_gets_a_carrier(some, slots):
    shares = carriers_shared_out(some, slots)
    assert set(shares) == some and min(shares.values()) >= 1
    assert sum(shares.values()) == max(slots, len(some))


def test_no_carrier_or_no_slot_is_an_error_that_says_so():
    with pytest.raises(ValueError, match="west.east has no carrier"):
        sticky_round_robin({"west.east": []}, {"west.east": 0}, Plan())
    with pytest.raises(ValueError, match="no task slots"):
        bins(Plan(), 0)
