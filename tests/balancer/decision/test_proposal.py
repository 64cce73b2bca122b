from dataclasses import replace

import pytest

from balancer.decision.cap import capped
from balancer.decision.limits import Limits
from balancer.decision.placement import Reason
from balancer.decision.placing import RouteView, Scope, place
from balancer.decision.proposal import fits, is_worth_it, proposed
from tests.balancer.decision.routes import CROWDED, at, even


def test_it_moves_no_more_than_it_may():
    view = RouteView(even(100), range(5), {at(n): n % 4 for n in range(100)})
    assert len(proposed(view, Limits(), 1000).moves) > 3
    some = proposed(view, Limits(), 3)
    assert [move.reason for move in some.moves] == [Reason.RELIEVES] * 3


def test_what_relieves_nobody_is_left_out():
    shares = {at(n): share for n, share in enumerate([0.5, 0.6, 0.2, 0.2])}
    view = RouteView(shares, range(3), {at(0): 0, at(1): 0, at(2): 1, at(3): 2})
    limits = Limits(slack=0.0)
    whole = proposed(view, limits, 2)
    assert max(whole.loads.values()) == pytest.approx(0.6)
    # One of the two moves alone would only pass the excess on to another carrier.
    some = capped(whole, view, limits, 1)
    assert len(some.moves) == 1 and max(some.loads.values()) > 0.6
    assert proposed(view, limits, 1).moves == ()


def test_a_plan_does_not_fit_where_the_moves_that_would_make_room_are_left_out():
    shares = {at(0): 0.0, at(1): 1.0, at(2): 1.0}  # two hot partitions and a light one
    view = RouteView(shares, range(3), dict.fromkeys(shares, 0))
    limits = Limits(partitions_max=2)
    assert {move.reason for move in proposed(view, limits, 2).moves} == {
        Reason.HOT,
        Reason.MAKES_ROOM,
    }
    assert fits(proposed(view, limits, 2), view, limits)
    assert not fits(proposed(view, limits, 0), view, limits)


def test_what_no_plan_makes_room_for_does_not_keep_one_from_fitting():
    view = RouteView(even(5), range(2), {at(n): n % 2 for n in range(5)})
    assert fits(proposed(view, Limits(partitions_max=2), 9), view, Limits(partitions_max=2))


def test_a_full_plan_may_not_fit_once_it_is_cut_short():
    limits = Limits(partitions_max=2)
    full = place(CROWDED, limits, Scope.FULL)
    assert fits(full, CROWDED, limits)
    assert not fits(capped(full, CROWDED, limits, 0), CROWDED, limits)


def test_everything_is_placed_anew_only_for_markedly_less_on_the_heaviest():
    shares = even(100) | {at(0): 0.012}
    view = RouteView(shares, range(5), {at(n): n % 5 for n in range(100)})
    full = place(view, Limits(), Scope.FULL)
    assert not is_worth_it(full, view)
    assert is_worth_it(full, replace(view, before={**view.before, at(1): 0}))


def test_a_hot_partition_is_not_what_it_is_judged_by():
    shares = even(100) | {at(0, "hot"): 5.0}
    before = {at(n): n % 4 for n in range(100)} | {at(0, "hot"): 4}
    view = RouteView(shares, range(5), before)
    full = place(view, Limits(), Scope.FULL)
    assert not is_worth_it(full, view)
    assert is_worth_it(full, replace(view, before={**before, at(0): 1, at(4): 1}))


def test_a_route_without_partitions_is_left_as_it_is():
    view = RouteView({}, [0])
    assert not is_worth_it(place(view, Limits(), Scope.FULL), view)
