from dataclasses import replace

import pytest

from balancer.decision.cap import capped
from balancer.decision.limits import Limits
from balancer.decision.loads import surplus
from balancer.decision.placement import Reason
from balancer.decision.placing import RouteView, Scope, place
from balancer.decision.proposal import fitting, is_worth_it, proposed
from tests.balancer.decision.routes import at, even


def test_it_moves_no_more_than_it_may():
    view = RouteView(even(100), range(5), {at(n): n % 4 for n in range(100)})
    assert len(proposed(view, Limits(), 1000).moves) > 3
    some = proposed(view, Limits(), 3)
    assert [move.reason for move in some.moves] == [Reason.RELIEVES] * 3


def test_what_relieves_nobody_is_left_out():
    shares = {at(n): share for n, share in enumerate([0.6, 0.3, 0.3, 0.2, 0.2, 0.2])}
    before = {at(0): 0, at(1): 1, at(2): 1, at(3): 0, at(4): 1, at(5): 1}
    view = RouteView(shares, [0, 1], before)
    limits = Limits(slack=0.0)
    if len(place(view, limits, Scope.STICKY).moves) > 1:
        assert proposed(view, limits, 0).moves == ()
    assert proposed(view, limits, 9).loads == pytest.approx({0: 0.9, 1: 0.9})


def test_a_carrier_with_too_many_is_relieved_where_the_moves_that_would_do_it_are_left_out():
    shares = {at(0): 0.0, at(1): 1.0, at(2): 1.0}  # two that are hot, beside a light one
    view = RouteView(shares, range(3), dict.fromkeys(shares, 0))
    limits = Limits(partitions_max=2)
    reasons = {move.reason for move in proposed(view, limits, 2).moves}
    assert reasons == {Reason.HOT, Reason.MAKES_ROOM}
    (move,) = fitting(proposed(view, limits, 0), view, limits).moves
    assert (move.partition, move.reason) == (at(0), Reason.TOO_MANY)
    whole = proposed(view, limits, 2)
    assert fitting(whole, view, limits) is whole


def test_a_full_plan_that_is_cut_short_leaves_no_carrier_with_too_many():
    shares = [0.2, 0.1, 0.01, 0.19, 0.185, 0.05, 0.03, 0.04]
    before = [0, 0, 0, 1, 1, 2, 2, 3]
    view = RouteView(
        {at(n): share for n, share in enumerate(shares)},
        range(4),
        {at(n): carrier for n, carrier in enumerate(before)},
    )
    limits = Limits(partitions_max=2)
    for most in range(8):
        cut = capped(place(view, limits, Scope.FULL), view, most)
        assert surplus(fitting(cut, view, limits).where, 2) == 0


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
