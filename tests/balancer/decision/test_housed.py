from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.housed import housed
from balancer.decision.limits import Limits
from balancer.decision.placement import Reason
from balancer.decision.placing import RouteView, Scope, place
from tests.balancer.decision.any_route import views
from tests.balancer.decision.routes import at, even


@given(views(), st.sampled_from([1, 2, 4]), st.sampled_from(Scope))
def test_everything_has_a_carrier_and_none_has_too_many_while_another_has_room(
    view, partitions_max, scope
):
    view, limits = (
        RouteView(view.shares, view.carriers, view.before),
        Limits(partitions_max=partitions_max),
    )
    found = housed(place(view, limits, scope), view, limits)
    assert sorted(found.where) == sorted(view.shares)
    counts = [Counter(found.where.values())[carrier] for carrier in view.carriers]
    assert max(counts) <= partitions_max or min(counts) >= partitions_max
    assert {each.partition: each.target for each in found.moves} == {
        each: carrier for each, carrier in found.where.items() if view.before.get(each) != carrier
    }


def test_one_without_room_stays_where_it_was_or_goes_where_fewest_are():
    view = RouteView(even(5), [0, 1], {at(0): 0, at(1): 0, at(2): 0, at(3): 7})
    limits = Limits(partitions_max=1)
    placed = place(view, limits, Scope.STICKY)
    assert len(placed.homeless) == 3
    found = housed(placed, view, limits)
    assert sorted(found.where) == sorted(view.shares)
    assert found.homeless == placed.homeless
    stayed = [each for each in found.homeless if view.before.get(each) == 0]
    assert stayed and all(found.where[each] == 0 for each in stayed)
    assert {move.reason for move in found.moves} <= {
        Reason.NEW,
        Reason.CARRIER_GONE,
        Reason.TOO_MANY,
    }


def test_what_leaves_a_carrier_for_what_is_pinned_there_is_too_many():
    pins = dict.fromkeys(even(3, 0.01, "pinned"), 0)
    shares = {at(0, "hot"): 0.9} | even(4) | even(3, 0.01, "pinned")
    before = {at(0, "hot"): 1} | dict.fromkeys(even(4), 0)
    view, limits = RouteView(shares, [0, 1], before, pins), Limits(partitions_max=4)
    found = housed(place(view, limits, Scope.STICKY), view, limits)
    assert Counter(found.where.values()) == {0: 4, 1: 4}
    leave = [move for move in found.moves if move.source == 0]
    assert [move.reason for move in leave] == [Reason.TOO_MANY] * 3


def test_what_leaves_a_carrier_that_may_hold_it_leaves_for_the_plan_that_needs_its_place():
    shares = (
        {at(0, "hot"): 0.9} | {at(n): 0.1 for n in range(3)} | {at(n): 0.01 for n in (3, 4, 5, 6)}
    )
    before = {at(0, "hot"): 0} | {at(n): 0 if n < 3 else 1 for n in range(7)}
    view, limits = RouteView(shares, [0, 1], before), Limits(partitions_max=4)
    found = housed(place(view, limits, Scope.FULL), view, limits)
    assert {move.reason for move in found.moves} == {Reason.MAKES_ROOM, Reason.FULL_PLAN}
    assert Counter(found.where.values()) == {0: 4, 1: 4}
