"""Triggers: the events that each one answers, and how much moves for it."""

from dataclasses import replace

import pytest

from balancer.decision.limits import Limits
from balancer.decision.monitor import Lag
from balancer.decision.occasion import RELIEF
from balancer.decision.placement import Reason
from balancer.decision.placing import Scope
from balancer.decision.rules import Rules
from balancer.decision.standing import Standing
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
    assert first.standing.carriers == (0, 1, 2, 3, 4)


def test_nothing_happens_where_nothing_happened():
    found = running().round(even(100))
    assert (found.triggers, found.placement) == ((), None)


def test_new_partitions_are_placed_and_nothing_else_moves():
    found = running().round(even(100) | even(5, topic="new"))
    assert found.triggers == (Trigger.NEW_PARTITIONS,)
    assert reasons(found) == {Reason.NEW}


def test_what_is_no_longer_carried_leaves_the_plan():
    found = running().round(even(95))
    assert found.triggers == (Trigger.PARTITIONS_GONE,)
    assert len(found.placement.where) == len(found.standing.where) == 95
    assert found.placement.moves == ()


def test_the_partitions_of_an_excluded_carrier_go_and_nothing_else_does():
    found = running().round(even(100), **ordered(excluded={2: "a bad disk"}))
    assert found.triggers == (Trigger.CARRIERS_GONE, Trigger.CARRIERS_CHANGED)
    assert found.standing.carriers == (0, 1, 3, 4, 5)
    assert reasons(found) == {Reason.CARRIER_GONE}


def test_more_carriers_are_given_something_to_carry():
    route = running(limits=Limits(carriers_max=9))
    assert route.standing.carriers == (0, 1)
    found = route.round(even(100, 0.02))
    assert found.triggers == (Trigger.CARRIERS_CHANGED,)
    assert reasons(found) == {Reason.RELIEVES}
    assert min(found.placement.loads.values()) > 0.5


def test_a_partition_goes_where_it_is_pinned():
    route = running()
    target = (route.standing.where[at(0)] + 1) % 5
    found = route.round(even(100), **ordered(pins={at(0): target}))
    assert found.triggers == (Trigger.PINS_CHANGED,)
    assert (found.standing.where[at(0)], Reason.PINNED in reasons(found)) == (target, True)
    again = route.round(even(100), **ordered(pins={at(0): target}))
    assert again.triggers == ()


def test_a_hot_partition_is_alone_within_one_round():
    route = running()
    shares = even(100) | {at(0): 0.9}
    found = route.round(shares)
    assert found.triggers == (Trigger.HOT,)
    carrier = found.standing.where[at(0)]
    assert [each for each, other in found.standing.where.items() if other == carrier] == [at(0)]


def test_a_carrier_with_too_much_is_relieved_after_some_rounds_in_a_row():
    route = running()
    stands = route.standing.where
    heavy = even(100) | {each: 0.02 for each in stands if stands[each] == 0}
    assert [it.triggers for it in route.rounds(3, heavy)] == [(), (), (Trigger.DRIFT,)]
    assert reasons(route.decisions[-1]) == {Reason.RELIEVES}
    assert route.standing.drifting_rounds == 0


def test_what_drifts_is_relieved_further_than_to_the_slack():
    limits = replace(FIVE, slack=0.2)
    route = running(limits=limits)
    heavy = even(100) | {at(n): 0.03 for n in range(0, 30, 5)}
    *_, last = route.rounds(3, heavy)
    calm = sum(heavy.values()) / 5
    assert max(last.placement.loads.values()) <= calm * (1 + 0.2 * RELIEF)


def test_relief_that_takes_more_moves_than_there_may_be_is_as_much_as_these_give():
    """Relief to half the slack takes several moves at once here, relief to the slack one."""
    sizes = [0.25, 0.207, 0.022, 0.154, 0.066, 0.266, 0.275, 0.176, 0.231]
    shares = {at(number): size for number, size in enumerate(sizes)}
    pins = {at(number): carrier for number, carrier in enumerate([0, 1, 1, 1, 1, 0, 1, 0, 1])}
    limits = Limits(carriers_min=2, carriers_max=2)
    route = Running(limits, Rules(moves_max=1, cool_down_seconds=0))
    route.round(shares, **ordered(pins=pins))
    route.rounds(6, shares)
    loads = [sum(shares[p] for p, c in route.standing.where.items() if c == n) for n in (0, 1)]
    assert max(loads) <= sum(sizes) / 2 * (1 + limits.slack)


def test_a_round_without_it_begins_the_patience_anew():
    route = running()
    stands = route.standing.where
    heavy = even(100) | {each: 0.02 for each in stands if stands[each] == 0}
    for shares in [heavy, heavy, even(100), heavy, heavy]:
        assert route.round(shares).placement is None


def test_partitions_that_lag_get_a_sticky_plan_and_then_a_full_one_and_no_more():
    route = running()
    stands = route.standing.where
    # A sticky plan leaves this load alone; a full plan improves on it.
    shares = even(100) | {next(each for each in stands if stands[each] == 0): 0.0165}
    found = [it.triggers for it in route.rounds(6, shares, lag_seconds={at(0): 99.0})]
    assert found == [(), (Trigger.LAG,), (Trigger.LAG_STAYS,), (), (), ()]
    route.round(shares, lag_seconds={at(0): 0.0})
    again = [it.triggers for it in route.rounds(2, shares, lag_seconds={at(0): 99.0})]
    assert again == [(), (Trigger.LAG,)]


def test_a_plan_for_lag_that_is_held_back_is_still_to_be_made():
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
    route.standing = Standing(where=CROWDED.before, carriers=(0, 1, 2, 3), generation=1, lag=lag)
    return route


def test_a_full_plan_that_makes_room_only_as_a_whole_waits_until_room_is_made():
    route, lag = crowded(), {"lag_seconds": {at(0): 99.0}}
    first = route.round(CROWDED.shares, **lag)
    assert {Trigger.TOO_MANY, Trigger.LAG_STAYS} <= set(first.triggers)
    assert reasons(first) == {Reason.TOO_MANY}
    # The first round put off the answer to the lag.
    assert Trigger.LAG_STAYS in route.round(CROWDED.shares, **lag).triggers
    assert Trigger.LAG_STAYS not in route.round(CROWDED.shares, **lag).triggers


def test_off_peak_waits_until_room_is_made():
    route = crowded(off_peak="11:00-13:00")
    first = route.round(CROWDED.shares)
    assert {Trigger.TOO_MANY, Trigger.OFF_PEAK} <= set(first.triggers)
    assert reasons(first) == {Reason.TOO_MANY}
    assert Trigger.OFF_PEAK in route.round(CROWDED.shares).triggers
    assert Trigger.OFF_PEAK not in route.round(CROWDED.shares).triggers


def test_too_many_that_pins_put_on_a_carrier_put_no_plan_off():
    sizes = [0.18, 0.02, 0.18, 0.02, 0.18, 0.21, 0.02, 0.04, 0.08]
    pins = dict.fromkeys(even(6, topic="pinned"), 0)
    shares = even(6, topic="pinned") | {at(n): size for n, size in enumerate(sizes)}
    limits = Limits(carriers_min=4, carriers_max=4, partitions_max=3)
    route = Running(limits, Rules(moves_max=3, cool_down_seconds=0))
    where = pins | {at(n): 1 + n % 3 for n in range(9)}
    route.standing = Standing(where=where, carriers=(0, 1, 2, 3), generation=1)
    found = route.rounds(8, shares, lag_seconds={at(0): 99.0}, **ordered(pins=pins))
    triggers = [it.triggers for it in found]
    assert sum(Trigger.LAG in it for it in triggers) == 1
    assert sum(Trigger.LAG_STAYS in it for it in triggers) == 1
    assert triggers[-1] == ()


def slightly_off(route):
    """Returns shares with which the heaviest carrier has 3 % too much."""
    stands = route.standing.where
    first = next(each for each in sorted(stands) if stands[each] == 0)
    return even(100) | {first: 0.016} | even(10, 0.002, "small")


def test_everything_is_placed_anew_once_in_each_off_peak_time_if_that_is_better():
    rules = Rules(off_peak="12:10-12:20", patience_rounds=99)
    route = Running(FIVE, rules)
    small = even(100) | even(10, 0.002, "small")
    route.round(small)
    shares = slightly_off(route)
    found = route.rounds(30, shares)
    fired = [number for number, it in enumerate(found) if Trigger.OFF_PEAK in it.triggers]
    assert fired == [9]
    assert reasons(found[9]) == {Reason.FULL_PLAN}
    assert route.standing.off_peak_day == NOON_MS // 86_400_000


def test_off_peak_nothing_is_placed_anew_for_little():
    route = running(rules=Rules(off_peak="11:00-13:00"))
    assert all(it.triggers == () for it in route.rounds(5, even(100)))


def test_off_peak_waits_for_what_holds_moves_back():
    route = Running(FIVE, Rules(off_peak="12:00-12:20", patience_rounds=99))
    route.round(even(100) | even(10, 0.002, "small"))
    shares = slightly_off(route)
    route.rounds(5, shares, **ordered(paused=True))
    assert route.standing.off_peak_day is None
    assert route.round(shares).triggers == (Trigger.OFF_PEAK,)


@pytest.mark.parametrize(
    ("scope", "trigger"),
    [(Scope.STICKY, Trigger.BY_HAND), (Scope.FULL, Trigger.BY_HAND_FULL)],
)
def test_what_is_ordered_by_hand_is_done_at_once_and_whole(scope, trigger):
    route = running(rules=Rules(moves_max=1))
    stands = route.standing.where
    heavy = even(100) | {each: 0.03 for each in stands if stands[each] == 0}
    found = route.round(heavy, **ordered(by_hand=scope, paused=True))
    assert trigger in found.triggers and found.held is None
    assert len(found.placement.moves) > 5
    kind = {Scope.STICKY: Reason.RELIEVES, Scope.FULL: Reason.FULL_PLAN}[scope]
    assert reasons(found) == {kind}


def test_rounds_may_come_at_once_when_something_happened():
    route = running()
    route.now_ms -= MINUTE_MS - 1
    assert route.round(even(101)).triggers == (Trigger.NEW_PARTITIONS,)
