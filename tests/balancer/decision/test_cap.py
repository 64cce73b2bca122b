from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.cap import capped
from balancer.decision.level import place
from balancer.decision.mandatory import place_overflow
from balancer.decision.placement import Reason, RouteView, Scope, voluntary
from balancer.decision.settings import Limits
from balancer.decision.triggered_plan import proposed
from tests.balancer.decision.any_route import routes
from tests.balancer.decision.routes import at, even

LIMITS = Limits(slack=0.05, partitions_max=12)


@given(routes(), st.integers(0, 6), st.sampled_from(Scope))
def test_mandatory_moves_are_made_and_voluntary_ones_up_to_the_maximum(route, most, scope):
    whole = place_overflow(place(route, LIMITS, scope), route, LIMITS)
    some = capped(whole, route, LIMITS, most)
    chosen = {move.partition for move in voluntary(some.moves)}
    assert len(chosen) <= most
    assert set(some.moves) <= set(whole.moves)
    left = {move for move in whole.moves if move not in some.moves}
    assert all(move in voluntary(whole.moves) for move in left)
    stays = {move.partition: move.source for move in left}
    assert some.where == {**whole.where, **stays}
    assert (some.bound, some.certificate, some.hot) == (whole.bound, whole.certificate, whole.hot)
    for carrier, load in some.loads.items():
        own = [route.shares[each] for each, at in some.where.items() if at == carrier]
        assert load == pytest.approx(sum(own))


@given(routes(), st.integers(0, 6), st.sampled_from(Scope))
def test_no_carrier_exceeds_both_its_load_without_moves_and_the_heaviest_of_the_whole_plan(
    route, most, scope
):
    whole = place_overflow(place(route, LIMITS, scope), route, LIMITS)
    some, none = capped(whole, route, LIMITS, most), capped(whole, route, LIMITS, 0)
    hot_ones = {whole.where[each] for each in whole.hot}
    heaviest = max((load for at, load in whole.loads.items() if at not in hot_ones), default=0)
    for carrier, load in some.loads.items():
        allowed = whole.loads[carrier] if carrier in hot_ones else heaviest
        assert load <= max(none.loads[carrier], allowed) * (1 + 1e-6) + 1e-9


@given(routes(), st.integers(8, 20))
def test_capped_plans_converge_within_forty_rounds(route, most):
    for _ in range(40):
        found = proposed(route, LIMITS, most)
        route = replace(route, before=found.where)
        if not found.moves:
            break
    else:
        pytest.fail("it still moves")
    whole = place(route, LIMITS, Scope.STICKY)
    assert not {Reason.HOT, Reason.MAKES_ROOM} & {move.reason for move in whole.moves}


def test_the_largest_relief_comes_first():
    shares = {at(0): 0.1, at(1): 0.05, at(2): 0.02} | even(70, topic="calm")
    before = {at(n): 0 for n in range(3)} | {at(n, "calm"): n % 3 for n in range(70)}
    route = RouteView(shares, range(3), before)
    whole = place(route, Limits(slack=0.0), Scope.STICKY)
    assert len(whole.moves) > 1
    some = capped(whole, route, Limits(), 1)
    largest = max(whole.moves, key=lambda move: shares[move.partition])
    assert some.moves == (largest,)


def test_an_exchange_is_made_as_a_whole_or_not_at_all():
    shares = {at(0): 0.5, at(1): 0.4, at(2): 0.35, at(3): 0.15}
    before = {at(0): 0, at(1): 0, at(2): 1, at(3): 1}
    route = RouteView(shares, [0, 1], before)
    whole = place(route, Limits(slack=0.0), Scope.STICKY)
    assert len(whole.moves) == 2
    assert capped(whole, route, Limits(), 1).moves == ()
    assert capped(whole, route, Limits(), 2).where == whole.where


def test_moves_for_a_hot_partition_come_first():
    shares = even(40) | {at(0, "hot"): 0.9}
    before = {at(n): 0 if n < 30 else 1 for n in range(40)} | {at(0, "hot"): 2, at(0): 2}
    route = RouteView(shares, range(3), before)
    whole = place(route, Limits(), Scope.STICKY)
    assert len(whole.moves) > 5
    some = capped(whole, route, Limits(), 1)
    assert [move.reason for move in some.moves] == [Reason.MAKES_ROOM]


def test_no_carrier_exceeds_partitions_max_because_another_one_does():
    pins = dict.fromkeys(even(5, topic="pinned"), 0)
    sizes = [0.08, 0.19, 0.18, 0.05, 0.12, 0.2]
    shares = even(5, topic="pinned") | {at(n): size for n, size in enumerate(sizes)}
    before = pins | {at(n): 1 + n % 3 for n in range(6)}
    route, limits = RouteView(shares, range(4), before, pins), Limits(slack=0.0, partitions_max=2)
    for scope in Scope:
        some = capped(place(route, limits, scope), route, limits, 1)
        counts = Counter(some.where.values())
        assert max(counts[carrier] for carrier in (1, 2, 3)) == 2
