from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.level import place
from balancer.decision.mandatory import mandatory_moves, mandatory_moves_by_count, place_overflow
from balancer.decision.placement import Move, Reason, RouteView, Scope, voluntary
from balancer.decision.settings import Limits
from tests.balancer.decision.any_route import routes
from tests.balancer.decision.routes import at, even


@given(routes(), st.sampled_from([1, 4, 1000]), st.booleans())
def test_every_partition_has_a_carrier_and_only_mandatory_moves_are_made(
    route, partitions_max, is_by_count
):
    limits = Limits(partitions_max=partitions_max)
    found = mandatory_moves_by_count(route) if is_by_count else mandatory_moves(route, limits)
    assert [*found.where] == sorted(route.shares)
    assert set(found.where.values()) <= set(route.carriers)
    assert route.pins.items() <= found.where.items()
    assert voluntary(found.moves) == []
    moved = {move.partition: (move.source, move.target) for move in found.moves}
    assert moved == {
        each: (route.before.get(each), carrier)
        for each, carrier in found.where.items()
        if route.before.get(each) != carrier
    }
    assert found.moves == tuple(sorted(found.moves, key=lambda move: move.partition))
    assert sum(found.loads.values()) <= sum(route.shares.values()) * (1 + 1e-9)


def test_a_new_partition_avoids_the_carrier_of_a_hot_one_that_cannot_move():
    shares = {at(0, "hot"): 0.75} | even(4, 0.25) | {at(0, "new"): 0.01}
    before = {at(0, "hot"): 0} | {at(n): 1 for n in range(4)}
    found = mandatory_moves(RouteView(shares, [0, 1], before), Limits())
    assert found.moves == (Move(at(0, "new"), None, 1, Reason.NEW),)
    # The bound counts only the partitions that are not hot.
    assert found.loads == {0: 0.75, 1: pytest.approx(1.01)}
    assert found.bound == pytest.approx(1.01)


def test_a_carrier_with_too_many_gives_away_its_lightest_partitions():
    shares = {at(0, "hot"): 0.9, at(0): 0.02, at(1): 0.01, at(2): 0.5}
    before = {at(0, "hot"): 0, at(0): 0, at(1): 0, at(2): 1}
    found = mandatory_moves(RouteView(shares, [0, 1], before), Limits(partitions_max=2))
    assert found.moves == (Move(at(1), 0, 1, Reason.TOO_MANY),)
    pinned = RouteView(shares, [0, 1], before, {at(1): 0})
    assert mandatory_moves(pinned, Limits(partitions_max=2)).moves == (
        Move(at(0), 0, 1, Reason.TOO_MANY),
    )


def test_pinned_partitions_stay_on_a_carrier_with_too_many():
    shares = even(4, 0.1)
    everywhere = dict.fromkeys(shares, 0)
    found = mandatory_moves(
        RouteView(shares, [0, 1], everywhere, everywhere), Limits(partitions_max=3)
    )
    assert found.moves == ()


def test_partitions_join_a_hot_one_only_without_room_elsewhere():
    shares = {at(0, "hot"): 0.9} | even(7, 0.1)
    before = {at(0, "hot"): 0} | {at(n): 1 for n in range(7)}
    route = RouteView(shares, [0, 1, 2], before)
    found = mandatory_moves(route, Limits(partitions_max=4))
    assert [(it.partition, it.target, it.reason) for it in found.moves] == [
        (at(n), 2, Reason.TOO_MANY) for n in range(3)
    ]
    found = mandatory_moves(route, Limits(partitions_max=3))
    assert Counter(found.where.values()) == {0: 2, 1: 3, 2: 3}
    assert {move.reason for move in found.moves} == {Reason.TOO_MANY}


def test_only_new_partitions_move_without_relief():
    shares = even(4, 0.1)
    before = {at(0): 0, at(1): 0, at(2): 0}
    route, limits = RouteView(shares, [0, 1], before), Limits(partitions_max=2)
    found = mandatory_moves(route, limits, relieves=False)
    assert found.moves == (Move(at(3), None, 1, Reason.NEW),)
    assert len(mandatory_moves(route, limits).moves) == 2


def test_the_bound_holds_for_any_placement():
    shares = {at(0): 0.3, at(1): 0.2, at(2): 0.1, at(3): 0.01}
    before = {at(0): 0, at(1): 0, at(2): 1}
    found = mandatory_moves(RouteView(shares, [0, 1], before), Limits())
    assert found.loads == pytest.approx({0: 0.5, 1: 0.11})
    assert found.bound == pytest.approx(0.305)


@given(routes(), st.sampled_from([1, 2, 4]), st.sampled_from(Scope))
def test_overflow_fills_carriers_with_room_first(route, partitions_max, scope):
    route, limits = (
        RouteView(route.shares, route.carriers, route.before),
        Limits(partitions_max=partitions_max),
    )
    found = place_overflow(place(route, limits, scope), route, limits)
    assert sorted(found.where) == sorted(route.shares)
    counts = [Counter(found.where.values())[carrier] for carrier in route.carriers]
    assert max(counts) <= partitions_max or min(counts) >= partitions_max
    assert {each.partition: each.target for each in found.moves} == {
        each: carrier for each, carrier in found.where.items() if route.before.get(each) != carrier
    }


def test_overflow_returns_to_its_carrier_or_goes_to_the_carrier_with_the_fewest():
    route = RouteView(even(5), [0, 1], {at(0): 0, at(1): 0, at(2): 0, at(3): 7})
    limits = Limits(partitions_max=1)
    placed = place(route, limits, Scope.STICKY)
    assert len(placed.unplaced) == 3
    found = place_overflow(placed, route, limits)
    assert sorted(found.where) == sorted(route.shares)
    assert found.unplaced == placed.unplaced
    stayed = [each for each in found.unplaced if route.before.get(each) == 0]
    assert stayed and all(found.where[each] == 0 for each in stayed)
    assert {move.reason for move in found.moves} <= {
        Reason.NEW,
        Reason.CARRIER_GONE,
        Reason.TOO_MANY,
    }


def test_overflow_that_yields_to_pinned_partitions_has_the_reason_too_many():
    pins = dict.fromkeys(even(3, 0.01, "pinned"), 0)
    shares = {at(0, "hot"): 0.9} | even(4) | even(3, 0.01, "pinned")
    before = {at(0, "hot"): 1} | dict.fromkeys(even(4), 0)
    route, limits = RouteView(shares, [0, 1], before, pins), Limits(partitions_max=4)
    found = place_overflow(place(route, limits, Scope.STICKY), route, limits)
    assert Counter(found.where.values()) == {0: 4, 1: 4}
    leave = [move for move in found.moves if move.source == 0]
    assert [move.reason for move in leave] == [Reason.TOO_MANY] * 3


def test_overflow_of_a_full_plan_has_the_reason_full_plan():
    shares = (
        {at(0, "hot"): 0.9} | {at(n): 0.1 for n in range(3)} | {at(n): 0.01 for n in (3, 4, 5, 6)}
    )
    before = {at(0, "hot"): 0} | {at(n): 0 if n < 3 else 1 for n in range(7)}
    route, limits = RouteView(shares, [0, 1], before), Limits(partitions_max=4)
    found = place_overflow(place(route, limits, Scope.FULL), route, limits)
    assert {move.reason for move in found.moves} == {Reason.MAKES_ROOM, Reason.FULL_PLAN}
    assert Counter(found.where.values()) == {0: 4, 1: 4}
