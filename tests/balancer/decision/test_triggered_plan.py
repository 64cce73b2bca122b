from dataclasses import replace

import pytest

from balancer.decision.cap import capped
from balancer.decision.lag import Lag
from balancer.decision.level import place
from balancer.decision.placement import Reason, RouteView, Scope
from balancer.decision.settings import Limits, Rules
from balancer.decision.state import RoundState
from balancer.decision.triggered_plan import RELIEF, fits, is_worth_it, proposed
from balancer.decision.triggers import Trigger
from tests.balancer.decision.routes import CROWDED, MINUTE_MS, NOON_MS, Running, at, even, ordered

FIVE = Limits(carriers_min=5, carriers_max=5)


def running(shares=None, limits=FIVE, **known):
    route = Running(limits, **known)
    route.round(even(100) if shares is None else shares)
    return route


def reasons(decision):
    return {move.reason for move in decision.placement.moves} if decision.placement else set()


def leaning(number=6):
    """Returns shares with which a few partitions of carrier 0 have grown."""
    return even(100) | {at(n): 0.03 for n in range(0, 5 * number, 5)}


def test_the_first_plan_places_everything():
    [first] = running().decisions
    assert first.triggers == (Trigger.FIRST,)
    assert reasons(first) == {Reason.NEW}
    assert first.state.carriers == (0, 1, 2, 3, 4)


def test_without_a_change_there_is_no_trigger_and_no_placement():
    found = running().round(even(100))
    assert (found.triggers, found.placement) == ((), None)


def test_new_partitions_are_placed_and_nothing_else_moves():
    found = running().round(even(100) | even(5, topic="new"))
    assert found.triggers == (Trigger.NEW_PARTITIONS,)
    assert reasons(found) == {Reason.NEW}


def test_partitions_that_are_no_longer_carried_leave_the_plan():
    found = running().round(even(95))
    assert found.triggers == (Trigger.PARTITIONS_GONE,)
    assert len(found.placement.where) == len(found.state.where) == 95
    assert found.placement.moves == ()


def test_only_the_partitions_of_an_excluded_carrier_move():
    found = running().round(even(100), **ordered(excluded={2: "a bad disk"}))
    assert found.triggers == (Trigger.CARRIERS_GONE, Trigger.CARRIERS_CHANGED)
    assert found.state.carriers == (0, 1, 3, 4, 5)
    assert reasons(found) == {Reason.CARRIER_GONE}


def test_additional_carriers_get_partitions():
    route = running(limits=Limits(carriers_max=9))
    assert route.state.carriers == (0, 1)
    found = route.round(even(100, 0.02))
    assert found.triggers == (Trigger.CARRIERS_CHANGED,)
    assert reasons(found) == {Reason.RELIEVES}
    assert min(found.placement.loads.values()) > 0.5


def test_a_pinned_partition_moves_to_its_carrier():
    route = running()
    target = (route.state.where[at(0)] + 1) % 5
    found = route.round(even(100), **ordered(pins={at(0): target}))
    assert found.triggers == (Trigger.PINS_CHANGED,)
    assert (found.state.where[at(0)], Reason.PINNED in reasons(found)) == (target, True)
    again = route.round(even(100), **ordered(pins={at(0): target}))
    assert again.triggers == ()


def test_a_hot_partition_is_alone_after_one_round():
    route = running()
    shares = even(100) | {at(0): 0.9}
    found = route.round(shares)
    assert found.triggers == (Trigger.HOT,)
    carrier = found.state.where[at(0)]
    assert [each for each, other in found.state.where.items() if other == carrier] == [at(0)]


def test_a_carrier_above_the_slack_is_relieved_after_patience_rounds():
    route = running()
    where = route.state.where
    heavy = even(100) | {each: 0.02 for each in where if where[each] == 0}
    assert [it.triggers for it in route.rounds(3, heavy)] == [(), (), (Trigger.DRIFT,)]
    assert reasons(route.decisions[-1]) == {Reason.RELIEVES}
    assert route.state.drifting_rounds == 0


def test_a_drift_is_relieved_to_half_the_slack():
    limits = replace(FIVE, slack=0.2)
    route = running(limits=limits)
    heavy = even(100) | {at(n): 0.03 for n in range(0, 30, 5)}
    *_, last = route.rounds(3, heavy)
    calm = sum(heavy.values()) / 5
    assert max(last.placement.loads.values()) <= calm * (1 + 0.2 * RELIEF)


def test_with_few_moves_a_drift_is_relieved_to_the_slack_at_least():
    """Relief to half the slack takes several moves at once here, relief to the slack one."""
    sizes = [0.25, 0.207, 0.022, 0.154, 0.066, 0.266, 0.275, 0.176, 0.231]
    shares = {at(number): size for number, size in enumerate(sizes)}
    pins = {at(number): carrier for number, carrier in enumerate([0, 1, 1, 1, 1, 0, 1, 0, 1])}
    limits = Limits(carriers_min=2, carriers_max=2)
    route = Running(limits, Rules(moves_max=1, cool_down_seconds=0))
    route.round(shares, **ordered(pins=pins))
    route.rounds(6, shares)
    loads = [sum(shares[p] for p, c in route.state.where.items() if c == n) for n in (0, 1)]
    assert max(loads) <= sum(sizes) / 2 * (1 + limits.slack)


def test_a_round_within_the_slack_restarts_the_patience():
    route = running()
    where = route.state.where
    heavy = even(100) | {each: 0.02 for each in where if where[each] == 0}
    for shares in [heavy, heavy, even(100), heavy, heavy]:
        assert route.round(shares).placement is None


def test_lag_triggers_one_sticky_plan_and_then_one_full_plan():
    route = running()
    where = route.state.where
    # A sticky plan leaves this load alone; a full plan improves on it.
    shares = even(100) | {next(each for each in where if where[each] == 0): 0.0165}
    found = [it.triggers for it in route.rounds(6, shares, lag_seconds={at(0): 99.0})]
    assert found == [(), (Trigger.LAG,), (Trigger.LAG_STAYS,), (), (), ()]
    route.round(shares, lag_seconds={at(0): 0.0})
    again = [it.triggers for it in route.rounds(2, shares, lag_seconds={at(0): 99.0})]
    assert again == [(), (Trigger.LAG,)]


def test_a_plan_for_lag_that_is_held_back_is_made_later():
    route = running()
    lag = {"lag_seconds": {at(0): 99.0}}
    held = route.rounds(4, even(100), **lag, **ordered(paused=True))
    assert [it.triggers for it in held] == [(), (Trigger.LAG,), (Trigger.LAG,), (Trigger.LAG,)]
    assert route.round(even(100), **lag).triggers == (Trigger.LAG,)
    assert route.round(even(100), **lag).triggers == (Trigger.LAG_STAYS,)


def crowded(now_ms=NOON_MS, **rules):
    """Returns a route with one carrier that has too many partitions, and a low `moves_max`."""
    route = Running(
        Limits(carriers_min=4, carriers_max=4, partitions_max=2, slack=9.0),
        Rules(moves_max=2, cool_down_seconds=0, **rules),
        now_ms,
    )
    lag = Lag(behind={at(0): 0}, planned_ms=0)
    route.state = RoundState(where=CROWDED.before, carriers=(0, 1, 2, 3), generation=1, lag=lag)
    return route


def test_a_capped_full_plan_waits_until_every_carrier_is_within_partitions_max():
    route, lag = crowded(), {"lag_seconds": {at(0): 99.0}}
    first = route.round(CROWDED.shares, **lag)
    assert {Trigger.TOO_MANY, Trigger.LAG_STAYS} <= set(first.triggers)
    assert reasons(first) == {Reason.TOO_MANY}
    # The first round put off the answer to the lag.
    assert Trigger.LAG_STAYS in route.round(CROWDED.shares, **lag).triggers
    assert Trigger.LAG_STAYS not in route.round(CROWDED.shares, **lag).triggers


def test_off_peak_waits_until_every_carrier_is_within_partitions_max():
    route = crowded(off_peak="11:00-13:00")
    first = route.round(CROWDED.shares)
    assert {Trigger.TOO_MANY, Trigger.OFF_PEAK} <= set(first.triggers)
    assert reasons(first) == {Reason.TOO_MANY}
    assert Trigger.OFF_PEAK in route.round(CROWDED.shares).triggers
    assert Trigger.OFF_PEAK not in route.round(CROWDED.shares).triggers


def test_too_many_pinned_partitions_put_no_plan_off():
    sizes = [0.18, 0.02, 0.18, 0.02, 0.18, 0.21, 0.02, 0.04, 0.08]
    pins = dict.fromkeys(even(6, topic="pinned"), 0)
    shares = even(6, topic="pinned") | {at(n): size for n, size in enumerate(sizes)}
    limits = Limits(carriers_min=4, carriers_max=4, partitions_max=3)
    route = Running(limits, Rules(moves_max=3, cool_down_seconds=0))
    where = pins | {at(n): 1 + n % 3 for n in range(9)}
    route.state = RoundState(where=where, carriers=(0, 1, 2, 3), generation=1)
    found = route.rounds(8, shares, lag_seconds={at(0): 99.0}, **ordered(pins=pins))
    triggers = [it.triggers for it in found]
    assert sum(Trigger.LAG in it for it in triggers) == 1
    assert sum(Trigger.LAG_STAYS in it for it in triggers) == 1
    assert triggers[-1] == ()


def slightly_off(route):
    """Returns shares with which the heaviest carrier has 3 % too much."""
    where = route.state.where
    first = next(each for each in sorted(where) if where[each] == 0)
    return even(100) | {first: 0.016} | even(10, 0.002, "small")


def test_a_better_full_plan_is_made_once_in_each_off_peak_window():
    rules = Rules(off_peak="12:10-12:20", patience_rounds=99)
    route = Running(FIVE, rules)
    small = even(100) | even(10, 0.002, "small")
    route.round(small)
    shares = slightly_off(route)
    found = route.rounds(30, shares)
    fired = [number for number, it in enumerate(found) if Trigger.OFF_PEAK in it.triggers]
    assert fired == [9]
    assert reasons(found[9]) == {Reason.FULL_PLAN}
    assert route.state.off_peak_day == NOON_MS // 86_400_000


def test_an_off_peak_plan_needs_a_marked_gain():
    route = running(rules=Rules(off_peak="11:00-13:00"))
    assert all(it.triggers == () for it in route.rounds(5, even(100)))


def test_off_peak_waits_while_moves_are_held():
    route = Running(FIVE, Rules(off_peak="12:00-12:20", patience_rounds=99))
    route.round(even(100) | even(10, 0.002, "small"))
    shares = slightly_off(route)
    route.rounds(5, shares, **ordered(paused=True))
    assert route.state.off_peak_day is None
    assert route.round(shares).triggers == (Trigger.OFF_PEAK,)


@pytest.mark.parametrize(
    ("scope", "trigger"),
    [(Scope.STICKY, Trigger.BY_HAND), (Scope.FULL, Trigger.BY_HAND_FULL)],
)
def test_a_manual_plan_is_made_at_once_and_without_a_cap(scope, trigger):
    route = running(rules=Rules(moves_max=1))
    where = route.state.where
    heavy = even(100) | {each: 0.03 for each in where if where[each] == 0}
    found = route.round(heavy, **ordered(by_hand=scope, paused=True))
    assert trigger in found.triggers and found.held is None
    assert len(found.placement.moves) > 5
    kind = {Scope.STICKY: Reason.RELIEVES, Scope.FULL: Reason.FULL_PLAN}[scope]
    assert reasons(found) == {kind}


def test_a_round_may_follow_the_last_one_at_once():
    route = running()
    route.now_ms -= MINUTE_MS - 1
    assert route.round(even(101)).triggers == (Trigger.NEW_PARTITIONS,)


def test_a_proposed_plan_keeps_to_the_maximum_of_moves():
    route = RouteView(even(100), range(5), {at(n): n % 4 for n in range(100)})
    assert len(proposed(route, Limits(), 1000).moves) > 3
    some = proposed(route, Limits(), 3)
    assert [move.reason for move in some.moves] == [Reason.RELIEVES] * 3


def test_moves_that_reduce_no_excess_are_left_out():
    shares = {at(n): share for n, share in enumerate([0.5, 0.6, 0.2, 0.2])}
    route = RouteView(shares, range(3), {at(0): 0, at(1): 0, at(2): 1, at(3): 2})
    limits = Limits(slack=0.0)
    whole = proposed(route, limits, 2)
    assert max(whole.loads.values()) == pytest.approx(0.6)
    # One of the two moves alone would only pass the excess on to another carrier.
    some = capped(whole, route, limits, 1)
    assert len(some.moves) == 1 and max(some.loads.values()) > 0.6
    assert proposed(route, limits, 1).moves == ()


def test_a_plan_without_the_moves_that_make_room_does_not_fit():
    shares = {at(0): 0.0, at(1): 1.0, at(2): 1.0}  # two hot partitions and a light one
    route = RouteView(shares, range(3), dict.fromkeys(shares, 0))
    limits = Limits(partitions_max=2)
    assert {move.reason for move in proposed(route, limits, 2).moves} == {
        Reason.HOT,
        Reason.MAKES_ROOM,
    }
    assert fits(proposed(route, limits, 2), route, limits)
    assert not fits(proposed(route, limits, 0), route, limits)


def test_a_plan_fits_when_no_plan_has_room_for_all():
    route = RouteView(even(5), range(2), {at(n): n % 2 for n in range(5)})
    assert fits(proposed(route, Limits(partitions_max=2), 9), route, Limits(partitions_max=2))


def test_a_capped_full_plan_may_not_fit():
    limits = Limits(partitions_max=2)
    full = place(CROWDED, limits, Scope.FULL)
    assert fits(full, CROWDED, limits)
    assert not fits(capped(full, CROWDED, limits, 0), CROWDED, limits)


def test_a_full_plan_is_worth_it_only_for_a_marked_gain():
    shares = even(100) | {at(0): 0.012}
    route = RouteView(shares, range(5), {at(n): n % 5 for n in range(100)})
    full = place(route, Limits(), Scope.FULL)
    assert not is_worth_it(full, route)
    assert is_worth_it(full, replace(route, before={**route.before, at(1): 0}))


def test_carriers_with_a_hot_partition_do_not_count_for_the_gain():
    shares = even(100) | {at(0, "hot"): 5.0}
    before = {at(n): n % 4 for n in range(100)} | {at(0, "hot"): 4}
    route = RouteView(shares, range(5), before)
    full = place(route, Limits(), Scope.FULL)
    assert not is_worth_it(full, route)
    assert is_worth_it(full, replace(route, before={**before, at(0): 1, at(4): 1}))


def test_a_full_plan_without_partitions_is_not_worth_it():
    route = RouteView({}, [0])
    assert not is_worth_it(place(route, Limits(), Scope.FULL), route)
