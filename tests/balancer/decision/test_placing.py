import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.limits import Limits
from balancer.decision.placement import Move, Reason
from balancer.decision.placing import RouteView, Scope, place
from balancer.plan import TopicPartition
from tests.balancer.decision.routes import at, even

LIMITS = Limits(threshold=0.7, slack=0.05)


def spread(count, carriers):
    return {at(number): number % carriers for number in range(count)}


SHARES = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 9)),
    st.floats(0, 1.5),
    min_size=1,
)


@given(SHARES, st.data(), st.sampled_from(Scope))
def test_every_partition_has_one_carrier_and_moves_say_all_that_changed(shares, data, scope):
    carriers = data.draw(st.lists(st.integers(0, 6), min_size=1, unique=True))
    some = st.sampled_from(sorted(shares))
    before = data.draw(st.dictionaries(some, st.integers(0, 6)))
    pins = data.draw(st.dictionaries(some, st.sampled_from(carriers), max_size=2))
    view = RouteView(shares, carriers, before, pins)
    found = place(view, LIMITS, scope)
    assert [*found.where] == sorted(shares)
    assert set(found.where.values()) <= set(carriers)
    assert pins.items() <= found.where.items()
    assert sum(found.loads.values()) == pytest.approx(sum(shares.values()))
    told = {move.partition: (move.source, move.target) for move in found.moves}
    assert told == {
        each: (before.get(each), carrier)
        for each, carrier in found.where.items()
        if before.get(each) != carrier
    }
    assert repr(found) == repr(place(view, LIMITS, scope))


def test_what_is_level_stays():
    shares = {at(number): 0.01 for number in range(100)}
    found = place(RouteView(shares, range(5), spread(100, 5)), LIMITS, Scope.STICKY)
    assert (found.moves, found.certificate) == ((), 0)


def test_what_is_new_goes_where_least_is_and_nothing_else_moves():
    shares = {at(number): 0.01 for number in range(100)} | {at(0, "new"): 0.02}
    before = spread(100, 5) | {at(0): 1, at(5): 1}
    found = place(RouteView(shares, range(5), before), Limits(slack=0.2), Scope.STICKY)
    assert found.moves == (Move(at(0, "new"), None, 0, Reason.NEW),)


def test_a_carrier_that_is_gone_leaves_its_partitions_and_only_those():
    shares = {at(number): 0.01 for number in range(100)}
    found = place(RouteView(shares, [0, 1, 3, 4], spread(100, 5)), LIMITS, Scope.STICKY)
    assert {move.partition for move in found.moves} == {at(n) for n in range(2, 100, 5)}
    assert {move.reason for move in found.moves} == {Reason.CARRIER_GONE}


def test_what_has_grown_relieves_its_carrier_by_the_fewest_moves():
    shares = {at(number): 0.01 for number in range(100)} | {at(0): 0.03}
    found = place(RouteView(shares, range(5), spread(100, 5)), LIMITS, Scope.STICKY)
    assert [move.reason for move in found.moves] == [Reason.RELIEVES]
    assert found.certificate == 1
    assert max(found.loads.values()) <= found.bound * 1.05


def test_a_hot_partition_is_alone_and_does_not_count_for_the_others():
    shares = {at(number): 0.01 for number in range(100)} | {at(0): 5.0}
    found = place(RouteView(shares, range(5), spread(100, 5)), LIMITS, Scope.STICKY)
    assert found.hot == {at(0): 5.0}
    assert [each for each, carrier in found.where.items() if carrier == found.where[at(0)]] == [
        at(0)
    ]
    others = [load for carrier, load in found.loads.items() if carrier != found.where[at(0)]]
    assert max(others) <= 0.26
    assert {move.reason for move in found.moves} == {Reason.MAKES_ROOM}


def test_two_hot_ones_on_one_carrier_part():
    shares = {at(0): 0.9, at(1): 0.8, at(2): 0.1, at(3): 0.1}
    before = {at(0): 0, at(1): 0, at(2): 1, at(3): 2}
    found = place(RouteView(shares, range(3), before), LIMITS, Scope.STICKY)
    carriers = [found.where[at(number)] for number in range(4)]
    assert carriers[0] == 0
    assert len({carriers[0], carriers[1]} | {carriers[2]}) == 3
    assert carriers[2] == carriers[3]


def test_with_more_hot_ones_than_carriers_the_least_hot_share_with_all_others():
    shares = {at(number): 1.0 + number for number in range(5)} | {at(0, "calm"): 0.1}
    found = place(RouteView(shares, range(3)), LIMITS, Scope.STICKY)
    alone = {found.where[at(4)], found.where[at(3)]}
    assert len(alone) == 2
    assert {found.where[at(n)] for n in range(3)} | {found.where[at(0, "calm")]} == {
        0,
        1,
        2,
    } - alone


@pytest.mark.parametrize("pins", [{}, {at(0, "hot"): 0}], ids=["free", "pinned"])
def test_a_hot_partition_does_not_hide_that_the_others_are_out_of_balance(pins):
    shares = {at(number): 0.01 for number in range(100)} | {at(0, "hot"): 1.0}
    before = {at(number): 1 if number < 60 else 2 for number in range(100)} | {at(0, "hot"): 0}
    found = place(RouteView(shares, range(3), before, pins), LIMITS, Scope.STICKY)
    assert found.loads[0] == 1.0
    assert max(found.loads[1], found.loads[2]) <= 0.525 + 1e-9
    assert len(found.moves) == found.certificate == 8


def test_a_hot_partition_goes_to_an_empty_carrier_rather_than_all_others_away_from_it():
    shares = {at(number): 0.001 for number in range(500)} | {at(0, "hot"): 0.9}
    before = {at(number): number % 2 for number in range(500)} | {at(0, "hot"): 0}
    found = place(RouteView(shares, range(3), before), LIMITS, Scope.STICKY)
    assert found.moves == (Move(at(0, "hot"), 0, 2, Reason.HOT),)


def test_with_all_hot_and_too_few_carriers_none_is_left_without_one():
    shares = {at(number): 1.0 for number in range(3)}
    found = place(RouteView(shares, range(2)), LIMITS, Scope.STICKY)
    assert set(found.where) == set(shares)
    assert sorted(found.loads.values()) == [1.0, 2.0]


def test_what_a_carrier_has_above_what_it_may_goes_to_others():
    shares = {at(number): 0.001 * number for number in range(20)}
    before = dict.fromkeys(shares, 0)
    limits = Limits(partitions_max=10, slack=10.0)
    found = place(RouteView(shares, range(2), before), limits, Scope.STICKY)
    assert [move.partition for move in found.moves] == [at(number) for number in range(10)]
    assert {move.reason for move in found.moves} == {Reason.TOO_MANY}


def test_pins_take_room():
    shares = {at(number): 0.01 for number in range(4)}
    pins = {at(0): 0, at(1): 0}
    found = place(RouteView(shares, range(2), {}, pins), Limits(partitions_max=2), Scope.STICKY)
    assert [found.where[at(number)] for number in range(4)] == [0, 0, 1, 1]


def test_what_is_pinned_elsewhere_moves_there():
    shares = {at(0): 0.1, at(1): 0.1}
    found = place(RouteView(shares, range(2), {at(0): 1, at(1): 1}, {at(0): 0}), LIMITS, Scope.FULL)
    assert found.moves == (Move(at(0), 1, 0, Reason.PINNED),)


def test_a_pin_of_a_partition_that_is_not_there_does_nothing():
    found = place(RouteView({at(0): 0.1}, [0], {}, {at(9): 7}), LIMITS, Scope.STICKY)
    assert found.where == {at(0): 0}


def test_a_full_plan_says_so_and_keeps_what_stands_on_a_carrier_with_a_pin():
    shares = {at(number): 0.01 + 0.0001 * number for number in range(60)}
    pins = {at(0): 3}
    first = place(RouteView(shares, range(5), {}, pins), LIMITS, Scope.FULL)
    again = place(RouteView(shares, range(5), first.where, pins), LIMITS, Scope.FULL)
    assert again.moves == ()
    skewed = dict.fromkeys(shares, 0) | pins
    found = place(RouteView(shares, range(5), skewed, pins), LIMITS, Scope.FULL)
    assert {move.reason for move in found.moves} == {Reason.FULL_PLAN}
    assert found.certificate is None


def test_the_bound_is_of_the_carriers_without_a_hot_one():
    shares = {at(number): 0.1 for number in range(4)} | {at(0, "hot"): 5.0}
    assert place(RouteView(shares, range(3)), LIMITS, Scope.FULL).bound == pytest.approx(0.2)


def test_what_is_pinned_stays_and_counts():
    shares = {at(number): 0.1 for number in range(6)}
    pins = {at(0): 0, at(1): 0, at(2): 0}
    found = place(RouteView(shares, range(2), {}, pins), LIMITS, Scope.FULL)
    assert [found.where[at(n)] for n in range(6)] == [0, 0, 0, 1, 1, 1]


def test_a_pin_to_a_carrier_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="clicks-0 is pinned to carrier 7; the route has 0, 1"):
        place(RouteView({at(0): 0.1}, range(2), {}, {at(0): 7}), LIMITS, Scope.STICKY)


def test_a_full_plan_numbers_its_carriers_so_that_much_stays():
    shares = {at(number): 0.01 * (1 + number) for number in range(12)}
    first = place(RouteView(shares, range(4)), LIMITS, Scope.FULL)
    again = place(RouteView(shares, range(4), first.where), LIMITS, Scope.FULL)
    turned = {each: (carrier + 1) % 4 for each, carrier in first.where.items()}
    other = place(RouteView(shares, range(4), turned), LIMITS, Scope.FULL)
    assert again.moves == other.moves == ()


def test_no_carrier_has_more_partitions_than_it_may_and_what_is_left_is_named():
    shares = {at(number): 0.01 for number in range(10)}
    found = place(RouteView(shares, range(3)), Limits(partitions_max=3), Scope.STICKY)
    assert len(found.where) == 9
    assert len(found.homeless) == 1


def test_what_is_no_load_is_refused_and_the_partition_named():
    with pytest.raises(ValueError, match="clicks-0: share nan .* is not a number"):
        place(RouteView({at(0): float("nan")}, range(2)), LIMITS, Scope.STICKY)


def test_no_carriers_is_refused():
    with pytest.raises(ValueError, match="give it one or more"):
        place(RouteView({at(0): 0.1}, []), LIMITS, Scope.STICKY)


def test_hot_ones_do_not_change_places():
    shares = {at(0, "hot"): 0.8, at(1, "hot"): 0.9} | even(6)
    before = {at(0, "hot"): 1, at(1, "hot"): 0} | {at(n): 0 if n < 2 else 2 for n in range(6)}
    found = place(RouteView(shares, range(3), before), Limits(), Scope.STICKY)
    assert {move.reason for move in found.moves} == {Reason.MAKES_ROOM}
    assert len(found.moves) == 2
