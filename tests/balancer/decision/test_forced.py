from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.cap import voluntary
from balancer.decision.forced import forced, forced_by_count
from balancer.decision.limits import Limits
from balancer.decision.placement import Move, Reason
from balancer.decision.placing import RouteView
from tests.balancer.decision.any_route import views
from tests.balancer.decision.routes import at, even


@given(views(), st.sampled_from([1, 4, 1000]), st.booleans())
def test_nothing_moves_that_need_not_and_none_is_homeless(view, partitions_max, is_by_count):
    limits = Limits(partitions_max=partitions_max)
    found = forced_by_count(view) if is_by_count else forced(view, limits)
    assert [*found.where] == sorted(view.shares)
    assert set(found.where.values()) <= set(view.carriers)
    assert view.pins.items() <= found.where.items()
    assert voluntary(found.moves) == []
    told = {move.partition: (move.source, move.target) for move in found.moves}
    assert told == {
        each: (view.before.get(each), carrier)
        for each, carrier in found.where.items()
        if view.before.get(each) != carrier
    }
    assert found.moves == tuple(sorted(found.moves, key=lambda move: move.partition))
    assert sum(found.loads.values()) <= sum(view.shares.values()) * (1 + 1e-9)


def test_what_is_new_does_not_go_to_a_hot_one_even_if_that_cannot_move():
    shares = {at(0, "hot"): 0.75} | even(4, 0.25) | {at(0, "new"): 0.01}
    before = {at(0, "hot"): 0} | {at(n): 1 for n in range(4)}
    found = forced(RouteView(shares, [0, 1], before), Limits())
    assert found.moves == (Move(at(0, "new"), None, 1, Reason.NEW),)
    # The bound counts only the partitions that are not hot.
    assert found.loads == {0: 0.75, 1: pytest.approx(1.01)}
    assert found.bound == pytest.approx(1.01)


def test_a_carrier_with_too_many_gives_away_the_lightest_also_beside_a_hot_one():
    shares = {at(0, "hot"): 0.9, at(0): 0.02, at(1): 0.01, at(2): 0.5}
    before = {at(0, "hot"): 0, at(0): 0, at(1): 0, at(2): 1}
    found = forced(RouteView(shares, [0, 1], before), Limits(partitions_max=2))
    assert found.moves == (Move(at(1), 0, 1, Reason.TOO_MANY),)
    pinned = RouteView(shares, [0, 1], before, {at(1): 0})
    assert forced(pinned, Limits(partitions_max=2)).moves == (Move(at(0), 0, 1, Reason.TOO_MANY),)


def test_what_is_pinned_does_not_leave_where_it_is_too_much():
    shares = even(4, 0.1)
    everywhere = dict.fromkeys(shares, 0)
    found = forced(RouteView(shares, [0, 1], everywhere, everywhere), Limits(partitions_max=3))
    assert found.moves == ()


def test_only_what_has_no_room_elsewhere_joins_a_hot_one():
    shares = {at(0, "hot"): 0.9} | even(7, 0.1)
    before = {at(0, "hot"): 0} | {at(n): 1 for n in range(7)}
    view = RouteView(shares, [0, 1, 2], before)
    found = forced(view, Limits(partitions_max=4))
    assert [(it.partition, it.target, it.reason) for it in found.moves] == [
        (at(n), 2, Reason.TOO_MANY) for n in range(3)
    ]
    found = forced(view, Limits(partitions_max=3))
    assert Counter(found.where.values()) == {0: 2, 1: 3, 2: 3}
    assert {move.reason for move in found.moves} == {Reason.TOO_MANY}


def test_where_it_may_not_relieve_only_what_is_new_moves():
    shares = even(4, 0.1)
    before = {at(0): 0, at(1): 0, at(2): 0}
    view, limits = RouteView(shares, [0, 1], before), Limits(partitions_max=2)
    found = forced(view, limits, relieves=False)
    assert found.moves == (Move(at(3), None, 1, Reason.NEW),)
    assert len(forced(view, limits).moves) == 2


def test_the_bound_is_that_of_any_placement_not_of_those_in_which_all_stays():
    shares = {at(0): 0.3, at(1): 0.2, at(2): 0.1, at(3): 0.01}
    before = {at(0): 0, at(1): 0, at(2): 1}
    found = forced(RouteView(shares, [0, 1], before), Limits())
    assert found.loads == pytest.approx({0: 0.5, 1: 0.11})
    assert found.bound == pytest.approx(0.305)
