from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.level import is_balanced, place
from balancer.decision.placement import Move, Reason, RouteView, Scope
from balancer.decision.settings import Limits
from balancer.topic_partition import TopicPartition
from tests.balancer.decision.routes import at, even, spread

LIMITS = Limits(threshold=0.7, slack=0.05)


SHARES = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 9)),
    st.floats(0, 1.5),
    min_size=1,
)


@given(SHARES, st.data(), st.sampled_from(Scope))
def test_every_partition_has_one_carrier_and_every_change_is_a_move(shares, data, scope):
    carriers = data.draw(st.lists(st.integers(0, 6), min_size=1, unique=True))
    some = st.sampled_from(sorted(shares))
    before = data.draw(st.dictionaries(some, st.integers(0, 6)))
    pins = data.draw(st.dictionaries(some, st.sampled_from(carriers), max_size=2))
    route = RouteView(shares, carriers, before, pins)
    found = place(route, LIMITS, scope)
    assert [*found.where] == sorted(shares)
    assert set(found.where.values()) <= set(carriers)
    assert pins.items() <= found.where.items()
    assert sum(found.loads.values()) == pytest.approx(sum(shares.values()))
    moved = {move.partition: (move.source, move.target) for move in found.moves}
    assert moved == {
        each: (before.get(each), carrier)
        for each, carrier in found.where.items()
        if before.get(each) != carrier
    }
    assert repr(found) == repr(place(route, LIMITS, scope))


def test_a_balanced_placement_stays():
    shares = {at(number): 0.01 for number in range(100)}
    found = place(RouteView(shares, range(5), spread(100, 5)), LIMITS, Scope.STICKY)
    assert (found.moves, found.certificate) == ((), 0)


def test_a_new_partition_goes_to_the_lightest_carrier_and_no_other_moves():
    shares = {at(number): 0.01 for number in range(100)} | {at(0, "new"): 0.02}
    before = spread(100, 5) | {at(0): 1, at(5): 1}
    found = place(RouteView(shares, range(5), before), Limits(slack=0.2), Scope.STICKY)
    assert found.moves == (Move(at(0, "new"), None, 0, Reason.NEW),)


def test_only_the_partitions_of_a_lost_carrier_move():
    shares = {at(number): 0.01 for number in range(100)}
    found = place(RouteView(shares, [0, 1, 3, 4], spread(100, 5)), LIMITS, Scope.STICKY)
    assert {move.partition for move in found.moves} == {at(n) for n in range(2, 100, 5)}
    assert {move.reason for move in found.moves} == {Reason.CARRIER_GONE}


def test_a_carrier_above_the_slack_is_relieved_by_the_fewest_moves():
    shares = {at(number): 0.01 for number in range(100)} | {at(0): 0.03}
    found = place(RouteView(shares, range(5), spread(100, 5)), LIMITS, Scope.STICKY)
    assert [move.reason for move in found.moves] == [Reason.RELIEVES]
    assert found.certificate == 1
    assert max(found.loads.values()) <= found.bound * 1.05


def test_a_carrier_above_partitions_max_gives_away_its_lightest_partitions():
    shares = {at(number): 0.001 * number for number in range(20)}
    before = dict.fromkeys(shares, 0)
    limits = Limits(partitions_max=10, slack=10.0)
    found = place(RouteView(shares, range(2), before), limits, Scope.STICKY)
    assert [move.partition for move in found.moves] == [at(number) for number in range(10)]
    assert {move.reason for move in found.moves} == {Reason.TOO_MANY}


def test_pinned_partitions_count_for_partitions_max():
    shares = {at(number): 0.01 for number in range(4)}
    pins = {at(0): 0, at(1): 0}
    found = place(RouteView(shares, range(2), {}, pins), Limits(partitions_max=2), Scope.STICKY)
    assert [found.where[at(number)] for number in range(4)] == [0, 0, 1, 1]


def test_a_partition_that_is_pinned_elsewhere_moves_there():
    shares = {at(0): 0.1, at(1): 0.1}
    found = place(RouteView(shares, range(2), {at(0): 1, at(1): 1}, {at(0): 0}), LIMITS, Scope.FULL)
    assert found.moves == (Move(at(0), 1, 0, Reason.PINNED),)


def test_a_pin_of_an_unknown_partition_has_no_effect():
    found = place(RouteView({at(0): 0.1}, [0], {}, {at(9): 7}), LIMITS, Scope.STICKY)
    assert found.where == {at(0): 0}


def test_a_full_plan_gives_its_reason_and_keeps_the_number_of_a_carrier_with_a_pin():
    shares = {at(number): 0.01 + 0.0001 * number for number in range(60)}
    pins = {at(0): 3}
    first = place(RouteView(shares, range(5), {}, pins), LIMITS, Scope.FULL)
    again = place(RouteView(shares, range(5), first.where, pins), LIMITS, Scope.FULL)
    assert again.moves == ()
    skewed = dict.fromkeys(shares, 0) | pins
    found = place(RouteView(shares, range(5), skewed, pins), LIMITS, Scope.FULL)
    assert {move.reason for move in found.moves} == {Reason.FULL_PLAN}
    assert found.certificate is None


def test_the_bound_leaves_out_carriers_with_a_hot_partition():
    shares = {at(number): 0.1 for number in range(4)} | {at(0, "hot"): 5.0}
    assert place(RouteView(shares, range(3)), LIMITS, Scope.FULL).bound == pytest.approx(0.2)


def test_pinned_partitions_stay_and_their_load_counts():
    shares = {at(number): 0.1 for number in range(6)}
    pins = {at(0): 0, at(1): 0, at(2): 0}
    found = place(RouteView(shares, range(2), {}, pins), LIMITS, Scope.FULL)
    assert [found.where[at(n)] for n in range(6)] == [0, 0, 0, 1, 1, 1]


def test_a_pin_to_an_unknown_carrier_is_refused():
    with pytest.raises(ValueError, match="clicks-0 is pinned to carrier 7; the route has 0, 1"):
        place(RouteView({at(0): 0.1}, range(2), {}, {at(0): 7}), LIMITS, Scope.STICKY)


def test_a_full_plan_numbers_its_carriers_so_that_most_partitions_stay():
    shares = {at(number): 0.01 * (1 + number) for number in range(12)}
    first = place(RouteView(shares, range(4)), LIMITS, Scope.FULL)
    again = place(RouteView(shares, range(4), first.where), LIMITS, Scope.FULL)
    turned = {each: (carrier + 1) % 4 for each, carrier in first.where.items()}
    other = place(RouteView(shares, range(4), turned), LIMITS, Scope.FULL)
    assert again.moves == other.moves == ()


def test_partitions_beyond_partitions_max_are_listed_as_unplaced():
    shares = {at(number): 0.01 for number in range(10)}
    found = place(RouteView(shares, range(3)), Limits(partitions_max=3), Scope.STICKY)
    assert len(found.where) == 9
    assert len(found.unplaced) == 1


def test_an_invalid_share_is_refused_by_the_name_of_its_partition():
    with pytest.raises(ValueError, match="clicks-0: share nan .* is not a number"):
        place(RouteView({at(0): float("nan")}, range(2)), LIMITS, Scope.STICKY)


def test_a_route_without_carriers_is_refused():
    with pytest.raises(ValueError, match="give it one or more"):
        place(RouteView({at(0): 0.1}, []), LIMITS, Scope.STICKY)


FEW_SHARES = st.dictionaries(st.builds(at, st.integers(0, 14)), st.floats(0, 1), min_size=1)


@given(FEW_SHARES, st.data(), st.booleans())
def test_a_sticky_plan_of_a_balanced_route_moves_nothing(shares, data, is_planned):
    carriers = data.draw(st.lists(st.integers(0, 4), min_size=1, unique=True))
    somewhere = st.sampled_from(carriers)
    pins = data.draw(st.dictionaries(st.sampled_from(sorted(shares)), somewhere, max_size=2))
    route = RouteView(shares, carriers, {each: data.draw(somewhere) for each in shares}, pins)
    slack = data.draw(st.sampled_from([0.0, 0.05, 1.0]))
    # A plan would level carriers that are idle as well; they count as balanced.
    limits = Limits(slack=slack, partitions_max=9, idle=0.0)
    if is_planned:
        route = replace(route, before=place(route, limits, Scope.FULL).where)
    if is_balanced(route, limits):
        assert place(route, limits, Scope.STICKY).moves == ()


def test_a_full_plan_is_balanced_until_something_changes():
    route = RouteView(even(100) | {at(0, "hot"): 0.9}, range(5))
    placed = replace(route, before=place(route, Limits(), Scope.FULL).where)
    assert is_balanced(placed, Limits())
    assert not is_balanced(replace(placed, before={**placed.before, at(0): 0, at(1): 0}), Limits())
    assert not is_balanced(replace(placed, carriers=range(4)), Limits())
    assert not is_balanced(replace(placed, pins={at(0): placed.before[at(1)]}), Limits())
    assert not is_balanced(route, Limits())


def test_a_route_without_partitions_is_balanced():
    assert is_balanced(RouteView({}, [0]), Limits())


def test_carriers_below_the_idle_load_are_balanced():
    shares = {at(number): 0.01 for number in range(8)}
    route = RouteView(shares, range(2), dict.fromkeys(shares, 0))
    assert not is_balanced(route, Limits())
    assert is_balanced(route, Limits(idle=0.1))
    assert not is_balanced(route, Limits(idle=0.07))
