import random
import time
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from balancer.decision.balance_alerts import AlertName
from balancer.decision.placement import Reason, voluntary
from balancer.decision.round import Orders, RoundState, decide
from balancer.decision.settings import Limits, Rules
from balancer.decision.triggers import Trigger
from tests.balancer.decision.any_round import PARTITIONS, limits_and_rules, views
from tests.balancer.decision.routes import Running, at, even, ordered, seen

FIVE = Limits(carriers_min=5, carriers_max=5)


def names(decision):
    return [alert.name for alert in decision.alerts]


@given(views(), limits_and_rules())
def test_every_partition_has_a_carrier_that_is_not_excluded(view, both):
    found = decide(view, *both)
    assert set(found.state.where) >= view.partitions
    assert set(found.state.where.values()) <= set(found.state.carriers)
    assert set(found.state.carriers).isdisjoint(view.orders.excluded)
    assert [*found.state.where] == sorted(found.state.where)


@given(views(), limits_and_rules())
def test_pins_are_obeyed_or_have_an_alert(view, both):
    found = decide(view, *both)
    for partition, carrier in view.orders.pins.items():
        if partition in view.partitions:
            is_there = carrier in found.state.carriers
            assert not is_there or found.state.where[partition] == carrier
            assert is_there or AlertName.PIN_IMPOSSIBLE in names(found)


@given(views(), limits_and_rules())
def test_voluntary_moves_are_held_back_and_limited(view, both):
    found = decide(view, *both)
    moves = voluntary(found.placement.moves) if found.placement else []
    assert not (found.held and moves)
    assert view.orders.by_hand or len(moves) <= both[1].moves_max


@given(views(), limits_and_rules())
def test_no_carrier_exceeds_partitions_max_while_another_has_room(view, both):
    # A pinned partition never makes room, and without loads no partition does.
    orders = replace(view.orders, pins={})
    view = replace(view, degraded=None, orders=orders, silent=frozenset())
    found, limits = decide(view, *both), both[0]
    assume(found.held is None or not found.held.startswith("frozen"))
    where = found.state.where
    assume(set(where) == view.partitions)
    counts = [Counter(where.values())[carrier] for carrier in found.state.carriers]
    assert min(counts) >= limits.partitions_max or max(counts) <= limits.partitions_max


def test_a_carrier_with_too_many_is_relieved_while_moves_are_held():
    shares = {at(0, "hot"): 0.9, at(1): 0.0, at(2): 0.0, at(3): 0.5}
    where = {at(0, "hot"): 0, at(1): 0, at(2): 0, at(3): 1}
    view = seen(shares, state=RoundState(where=where, carriers=(0, 1), generation=1))
    limits = Limits(partitions_max=2, carriers_min=2, carriers_max=2)
    found = decide(replace(view, orders=Orders(paused=True)), limits, Rules())
    assert Trigger.TOO_MANY in found.triggers
    (move,) = found.placement.moves
    assert (move.source, move.target, move.reason) == (0, 1, Reason.TOO_MANY)


def test_too_many_pinned_partitions_trigger_no_plan():
    shares = {at(n): 0.1 for n in range(4)} | {at(9): 0.1}
    where = dict.fromkeys(shares, 0) | {at(9): 1}
    pins = {at(n): 0 for n in range(4)}
    view = seen(shares, state=RoundState(where=where, carriers=(0, 1), generation=1))
    limits = Limits(partitions_max=3, carriers_min=2, carriers_max=2)
    found = decide(replace(view, orders=Orders(pins=pins)), limits, Rules())
    assert Trigger.TOO_MANY not in found.triggers and found.placement is None


def test_a_lowered_partitions_max_is_obeyed_at_once():
    route = Running(replace(FIVE, slack=1.0), Rules(patience_rounds=9))
    route.rounds(2, even(100, 0.001) | even(1, 0.5, topic="heavy"))
    route.limits = replace(route.limits, partitions_max=21)
    before = Counter(route.state.where.values())
    assert max(before.values()) > 21
    found = route.round(even(100, 0.001) | even(1, 0.5, topic="heavy"), **ordered(paused=True))
    assert found.triggers == (Trigger.TOO_MANY,)
    assert {move.reason for move in found.placement.moves} == {Reason.TOO_MANY}
    assert max(Counter(found.state.where.values()).values()) == 21


@given(views(), limits_and_rules())
def test_the_next_state_has_the_published_placement(view, both):
    found = decide(view, *both)
    before = view.state or RoundState()
    if found.placement:
        assert found.placement.where == found.state.where
        assert set(found.placement.loads) == set(found.state.carriers)
        assert found.state.generation == before.generation + 1
        assert found.triggers
    else:
        assert (found.state.where, found.state.carriers, found.state.generation) == (
            before.where,
            before.carriers,
            before.generation,
        )
    assert RoundState.from_json(found.state.to_json()) == found.state


@given(views(), limits_and_rules(), st.randoms())
def test_the_same_view_gives_the_same_decision_byte_for_byte(view, both, shuffled):
    def turned(mapping):
        items = [*mapping.items()]
        shuffled.shuffle(items)
        return dict(items)

    other = replace(
        view,
        partitions=frozenset(turned(view.shares)),
        shares=turned(view.shares),
        orders=replace(view.orders, pins=turned(view.orders.pins)),
    )
    if view.state:
        own = replace(view.state, where=turned(view.state.where))
        other = replace(other, state=own)
    assert decide(other, *both).state.to_json() == decide(view, *both).state.to_json()
    assert repr(decide(view, *both)) == repr(decide(view, *both))
    assert repr(decide(other, *both).placement) == repr(decide(view, *both).placement)


@given(
    st.dictionaries(PARTITIONS, st.floats(0, 0.3), min_size=1, max_size=25), st.integers(0, 2**32)
)
def test_small_changes_of_load_move_nothing(shares, seed):
    limits = Limits(slack=0.15, calm_rounds=3)
    route, chance = Running(limits), random.Random(seed)
    first = route.round(shares).placement
    # With few partitions a carrier may exceed the slack from the start, or be so near to it that a
    # small change exceeds it. A small change may also carry a share across the threshold for hot
    # partitions.
    assume(max(first.loads.values()) * 1.05 <= first.bound * 0.95 * (1 + limits.slack))
    assume(not any(0.7 / 1.06 < share < 0.7 / 0.94 for share in shares.values()))
    for _ in range(30):
        found = route.round({each: it * chance.uniform(0.95, 1.05) for each, it in shares.items()})
        grown = len(found.state.carriers) > len(route.decisions[0].state.carriers)
        assert grown or found.placement is None


@pytest.mark.parametrize("seed", range(3))
def test_a_thousand_rounds_of_jitter_move_nothing(seed):
    chance = random.Random(seed)
    shares = {at(n): chance.lognormvariate(-4, 1) for n in range(200)}
    route = Running(Limits(carriers_min=3, carriers_max=50))
    route.round(shares)
    first = route.state
    for _ in range(1000):
        route.round({each: it * chance.uniform(0.95, 1.05) for each, it in shares.items()})
    moved = [it for it in route.decisions[1:] if it.placement]
    # At most once a round needs one carrier more than the first round did.
    assert len(moved) == len(route.state.carriers) - len(first.carriers) <= 1


def test_carriers_are_added_at_once_and_removed_after_calm_rounds():
    route = Running(Limits(carriers_max=20, calm_rounds=3), Rules(cool_down_seconds=0))
    counts = [
        len(route.round(even(100, share)).state.carriers)
        for share in [0.02, 0.05, 0.02, 0.02, 0.02, 0.02]
    ]
    assert counts == [3, 8, 8, 8, 4, 4]


def test_no_voluntary_move_is_made_during_the_cool_down():
    route = Running(FIVE, Rules(moves_max=2, patience_rounds=1, cool_down_seconds=300))
    route.round(even(100))
    heavy = even(100) | {each: 0.02 for each, carrier in route.state.where.items() if carrier == 0}
    found = route.rounds(11, heavy)
    moved = [len(it.placement.moves) if it.placement else 0 for it in found]
    assert moved == [2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2]
    assert found[1].held == "cool-down until 12:06:00 UTC"
    assert found[5].held is None


def test_only_mandatory_moves_are_made_while_paused():
    route = Running(FIVE, Rules(patience_rounds=1))
    route.round(even(100))
    heavy = even(100) | {each: 0.03 for each, carrier in route.state.where.items() if carrier == 0}
    paused = route.round(heavy, **ordered(paused=True))
    assert (paused.placement, paused.held) == (None, "moves are paused")
    forced = route.round(heavy | even(1, topic="new"), **ordered(paused=True))
    assert {move.reason for move in forced.placement.moves} == {Reason.NEW}
    resumed = route.round(heavy | even(1, topic="new"))
    assert Trigger.DRIFT in resumed.triggers
    assert {move.reason for move in resumed.placement.moves} == {Reason.RELIEVES}


def test_a_new_partition_avoids_the_carrier_of_a_hot_one_that_may_not_move():
    route = Running(FIVE)
    route.round(even(100))
    hot = even(100) | {at(0): 0.9}
    found = route.round(hot | even(3, topic="new"), **ordered(paused=True))
    carrier = found.state.where[at(0)]
    assert all(found.state.where[each] != carrier for each in even(3, topic="new"))
    assert len(voluntary(found.placement.moves)) == 0


def test_partitions_that_vanish_at_once_keep_their_carriers_for_thirty_minutes():
    route = Running(FIVE)
    route.round(even(100))
    frozen = route.rounds(30, even(20))
    assert all(it.placement is None and names(it) == [AlertName.FROZEN] for it in frozen)
    assert frozen[0].held == "frozen: 80 of 100 partitions are gone at once"
    assert len(route.state.where) == 100
    thawed = route.round(even(20))
    assert thawed.triggers == (Trigger.PARTITIONS_GONE,)
    assert len(thawed.state.where) == 20
    assert thawed.state.freeze.since_ms is None


def test_partitions_that_return_keep_their_carriers():
    route = Running(FIVE)
    first = route.round(even(100)).state.where
    route.rounds(3, {})
    found = route.round(even(100))
    assert (found.placement, found.held, found.state.where) == (None, None, first)


def test_withdrawn_partitions_do_not_count_as_vanished():
    route = Running(FIVE)
    route.round(even(100))
    found = route.round(even(20), withdrawn=frozenset(even(100)) - even(20).keys())
    assert (len(found.state.where), found.held) == (20, None)


def test_a_frozen_route_places_new_partitions_and_keeps_its_carriers():
    route = Running(Limits(carriers_max=9, calm_rounds=0), Rules(patience_rounds=1))
    route.round(even(100, 0.03))
    carriers = route.state.carriers
    vanished = {"measured": frozenset(), **ordered()}
    found = route.round(even(100, 0.001) | even(1, topic="new"), **vanished)
    assert found.held == "frozen: only 0 of 100 partitions are measured"
    assert found.state.carriers == carriers
    assert {move.reason for move in found.placement.moves} == {Reason.NEW}
    for _ in range(40):
        found = route.round(even(100, 0.001) | even(1, topic="new"), **vanished)
        assert found.placement is None and found.held
    thawed = route.round(even(100, 0.03) | even(1, topic="new"))
    assert (thawed.held, thawed.placement) == (None, None)


def test_silent_carriers_freeze_a_route():
    route = Running(FIVE)
    route.round(even(100))
    assert route.round(even(100), silent={0, 1}).held is None
    assert route.round(even(100), silent={0, 1, 2}).held == "frozen: 3 of 5 carriers are silent"
    assert route.round(even(100), silent={7, 8, 9}).held is None


def test_without_loads_partitions_are_placed_by_count_and_stay():
    route = Running(Limits(carriers_max=50))
    first = route.round(even(10), degraded="no rates", slots=4)
    assert sorted(first.state.where.values()) == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
    assert names(first) == [AlertName.DEGRADED]
    assert first.triggers == (Trigger.FIRST,)
    found = route.round(even(10, 0.9) | even(1, topic="new"), degraded="no rates")
    assert found.held == "loads are not known: no rates"
    assert [move.target for move in found.placement.moves] == [2]


def test_a_route_that_was_never_measured_is_not_frozen():
    route = Running(FIVE)
    assert [it.held for it in route.rounds(3, even(100), measured=frozenset())] == [None] * 3


def test_alerts_come_in_a_fixed_order():
    route = Running(Limits(carriers_max=2, partitions_max=60), Rules(lag_patience_seconds=60))
    shares = even(119, 0.02) | {at(0, "hot"): 0.9} | even(5, topic="x")
    orders = ordered(pins={at(1): 9, at(2): 1}, excluded={1: "a bad disk"})
    known = {
        **orders,
        "slots": 1,
        "lag_seconds": {at(5): 50.0},
        "doubts": {at(3): "it is negative"},
    }
    route.rounds(2, shares, **known)
    assert names(route.decisions[-1]) == [
        AlertName.EXECUTORS_FEWER,
        AlertName.LAGGING,
        AlertName.DOUBTED,
        AlertName.PIN_IMPOSSIBLE,
        AlertName.HOMELESS,
        AlertName.HOT_PARTITION,
        AlertName.RESIZE,
    ]


def test_an_overloaded_carrier_with_one_hot_partition_needs_no_more_carriers():
    found = Running(Limits(carriers_max=9)).round(even(10) | {at(0, "hot"): 1.4})
    assert names(found) == [AlertName.HOT_PARTITION]


def test_a_route_without_partitions_has_carriers():
    route = Running(Limits(carriers_min=2))
    first = route.round({})
    assert (first.state.carriers, first.placement.where) == ((0, 1), {})
    assert route.round({}).placement is None
    assert route.round(even(4)).triggers == (Trigger.NEW_PARTITIONS,)


def test_an_invalid_share_is_refused():
    with pytest.raises(ValueError, match="clicks-0: share nan"):
        decide(seen({at(0): float("nan")}), Limits(), Rules())


def test_a_round_of_a_hundred_thousand_partitions_takes_at_most_seconds():
    chance = random.Random(0)
    shares = {at(n // 50, f"t{n % 50}"): chance.lognormvariate(-5.5, 1) for n in range(100_000)}
    route = Running(Limits(carriers_max=2000))
    route.round(shares)
    assert len(route.state.carriers) > 500
    begun = time.process_time()
    assert route.round(shares).placement is None
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("seed", range(3))
def test_five_hundred_rounds_of_a_changing_route_keep_all_rules(seed):
    """Runs 200 partitions whose loads drift, while topics come and go, carriers are excluded, and
    metrics vanish. The claims about one round hold in each of them."""
    chance = random.Random(seed)
    limits = Limits(carriers_min=2, carriers_max=40, threshold=0.7)
    rules = Rules(moves_max=10, off_peak="02:00-03:00", cool_down_seconds=120)
    route = Running(limits, rules)
    shares = {at(n, f"t{n % 20}"): chance.lognormvariate(-4, 1) for n in range(200)}
    excluded, pins, blind, paused = {}, {}, 0, 0
    for number in range(500):
        shares = {each: it * chance.lognormvariate(0, 0.03) for each, it in shares.items()}
        if chance.random() < 0.02:
            shares |= {at(n, f"new{number}"): chance.lognormvariate(-4, 1) for n in range(8)}
        if chance.random() < 0.01:
            topic = chance.choice(sorted(shares)).topic
            shares = {each: it for each, it in shares.items() if each.topic != topic}
        if chance.random() < 0.02:
            shares[chance.choice(sorted(shares))] = chance.uniform(0.5, 1.5)
        if chance.random() < 0.03:
            excluded = {chance.choice(route.state.carriers): "a bad disk"} if route.state else {}
        if chance.random() < 0.02:
            pins = {chance.choice(sorted(shares)): chance.randrange(6)}
        blind = blind - 1 if blind else 15 * (chance.random() < 0.01)
        paused = paused - 1 if paused else 10 * (chance.random() < 0.01)
        before = route.state
        known: dict = {"measured": frozenset()} if blind else {}
        known |= {"degraded": "no rates"} if blind > 8 else {}
        found = route.round(
            shares, **known, **ordered(pins=pins, excluded=excluded, paused=bool(paused))
        )
        where, carriers = found.state.where, found.state.carriers
        assert set(where) >= set(shares)
        assert set(where.values()) <= set(carriers)
        assert not set(carriers) & set(excluded)
        assert all(where[p] == c for p, c in pins.items() if p in shares and c in carriers)
        moved = voluntary(found.placement.moves) if found.placement else []
        assert len(moved) <= (0 if found.held else rules.moves_max)
        if blind or paused:
            assert found.held
        if found.held and before:
            assert len(carriers) >= len(before.carriers)
        route.state = RoundState.from_json(found.state.to_json())
        assert route.state == found.state
    # With constant loads and no more events the route comes to rest in balance.
    rest = route.rounds(150, shares)
    assert all(it.placement is None for it in rest[-20:])
    hot = {each for each, share in shares.items() if share > limits.threshold}
    counts = [*route.state.where.values()]
    assert all(counts.count(route.state.where[each]) == 1 for each in hot)
