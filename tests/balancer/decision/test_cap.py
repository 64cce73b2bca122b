from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.cap import capped, voluntary
from balancer.decision.housed import housed
from balancer.decision.limits import Limits
from balancer.decision.placement import Reason
from balancer.decision.placing import RouteView, Scope, place
from balancer.decision.proposal import proposed
from tests.balancer.decision.any_route import views
from tests.balancer.decision.routes import at, even

LIMITS = Limits(slack=0.05, partitions_max=12)


@given(views(), st.integers(0, 6), st.sampled_from(Scope))
def test_no_more_move_than_may_and_what_is_forced_does(view, most, scope):
    whole = housed(place(view, LIMITS, scope), view, LIMITS)
    some = capped(whole, view, LIMITS, most)
    chosen = {move.partition for move in voluntary(some.moves)}
    assert len(chosen) <= most
    assert set(some.moves) <= set(whole.moves)
    left = {move for move in whole.moves if move not in some.moves}
    assert all(move in voluntary(whole.moves) for move in left)
    stays = {move.partition: move.source for move in left}
    assert some.where == {**whole.where, **stays}
    assert (some.bound, some.certificate, some.hot) == (whole.bound, whole.certificate, whole.hot)
    for carrier, load in some.loads.items():
        own = [view.shares[each] for each, at in some.where.items() if at == carrier]
        assert load == pytest.approx(sum(own))


@given(views(), st.integers(0, 6), st.sampled_from(Scope))
def test_no_carrier_is_heavier_than_without_any_move_and_than_the_heaviest_with_all(
    view, most, scope
):
    whole = housed(place(view, LIMITS, scope), view, LIMITS)
    some, none = capped(whole, view, LIMITS, most), capped(whole, view, LIMITS, 0)
    hot_ones = {whole.where[each] for each in whole.hot}
    heaviest = max((load for at, load in whole.loads.items() if at not in hot_ones), default=0)
    for carrier, load in some.loads.items():
        allowed = whole.loads[carrier] if carrier in hot_ones else heaviest
        assert load <= max(none.loads[carrier], allowed) * (1 + 1e-6) + 1e-9


@given(views(), st.integers(8, 20))
def test_round_after_round_it_comes_to_a_plan_that_moves_nothing_more(view, most):
    for _ in range(40):
        found = proposed(view, LIMITS, most)
        view = replace(view, before=found.where)
        if not found.moves:
            break
    else:
        pytest.fail("it still moves")
    whole = place(view, LIMITS, Scope.STICKY)
    assert not {Reason.HOT, Reason.MAKES_ROOM} & {move.reason for move in whole.moves}


def test_what_relieves_most_comes_first():
    shares = {at(0): 0.1, at(1): 0.05, at(2): 0.02} | even(70, topic="calm")
    before = {at(n): 0 for n in range(3)} | {at(n, "calm"): n % 3 for n in range(70)}
    view = RouteView(shares, range(3), before)
    whole = place(view, Limits(slack=0.0), Scope.STICKY)
    assert len(whole.moves) > 1
    some = capped(whole, view, Limits(), 1)
    largest = max(whole.moves, key=lambda move: shares[move.partition])
    assert some.moves == (largest,)


def test_an_exchange_is_made_as_a_whole_or_not():
    shares = {at(0): 0.5, at(1): 0.4, at(2): 0.35, at(3): 0.15}
    before = {at(0): 0, at(1): 0, at(2): 1, at(3): 1}
    view = RouteView(shares, [0, 1], before)
    whole = place(view, Limits(slack=0.0), Scope.STICKY)
    assert len(whole.moves) == 2
    assert capped(whole, view, Limits(), 1).moves == ()
    assert capped(whole, view, Limits(), 2).where == whole.where


def test_hot_partitions_come_first():
    shares = even(40) | {at(0, "hot"): 0.9}
    before = {at(n): 0 if n < 30 else 1 for n in range(40)} | {at(0, "hot"): 2, at(0): 2}
    view = RouteView(shares, range(3), before)
    whole = place(view, Limits(), Scope.STICKY)
    assert len(whole.moves) > 5
    some = capped(whole, view, Limits(), 1)
    assert [move.reason for move in some.moves] == [Reason.MAKES_ROOM]


def test_none_gets_more_partitions_than_it_may_hold_because_another_has_too_many():
    pins = dict.fromkeys(even(5, topic="pinned"), 0)
    sizes = [0.08, 0.19, 0.18, 0.05, 0.12, 0.2]
    shares = even(5, topic="pinned") | {at(n): size for n, size in enumerate(sizes)}
    before = pins | {at(n): 1 + n % 3 for n in range(6)}
    view, limits = RouteView(shares, range(4), before, pins), Limits(slack=0.0, partitions_max=2)
    for scope in Scope:
        some = capped(place(view, limits, scope), view, limits, 1)
        counts = Counter(some.where.values())
        assert max(counts[carrier] for carrier in (1, 2, 3)) == 2
