"""Hot partitions: each is alone on its carrier as long as there are enough carriers."""

import pytest

from balancer.decision.hot import divided
from balancer.decision.level import place
from balancer.decision.placement import Move, Reason, RouteView, Scope
from balancer.decision.settings import Limits
from tests.balancer.decision.routes import at, even, spread

LIMITS = Limits(threshold=0.7, slack=0.05)


def test_hot_and_pinned_partitions_have_their_carriers_and_all_others_are_free():
    shares = even(4) | {at(0, "hot"): 0.9, at(1, "hot"): 0.8}
    route = RouteView(shares, range(4), {at(1, "hot"): 2}, {at(0): 3})
    found = divided(route, LIMITS)
    assert found.pins == {at(0): 3}
    assert found.hot == {at(0, "hot"): 0.9, at(1, "hot"): 0.8}
    assert found.alone == {at(0, "hot"): 0, at(1, "hot"): 2}
    assert found.free == [at(1), at(2), at(3)]
    assert found.carriers == [1, 3]


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


def test_two_hot_partitions_on_one_carrier_are_separated():
    shares = {at(0): 0.9, at(1): 0.8, at(2): 0.1, at(3): 0.1}
    before = {at(0): 0, at(1): 0, at(2): 1, at(3): 2}
    found = place(RouteView(shares, range(3), before), LIMITS, Scope.STICKY)
    carriers = [found.where[at(number)] for number in range(4)]
    assert carriers[0] == 0
    assert len({carriers[0], carriers[1]} | {carriers[2]}) == 3
    assert carriers[2] == carriers[3]


def test_with_too_few_carriers_the_least_hot_partitions_share_one_with_the_others():
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
def test_a_hot_partition_does_not_hide_an_imbalance_of_the_others(pins):
    shares = {at(number): 0.01 for number in range(100)} | {at(0, "hot"): 1.0}
    before = {at(number): 1 if number < 60 else 2 for number in range(100)} | {at(0, "hot"): 0}
    found = place(RouteView(shares, range(3), before, pins), LIMITS, Scope.STICKY)
    assert found.loads[0] == 1.0
    assert max(found.loads[1], found.loads[2]) <= 0.525 + 1e-9
    assert len(found.moves) == found.certificate == 8


def test_a_hot_partition_moves_to_an_empty_carrier_instead_of_displacing_others():
    shares = {at(number): 0.001 for number in range(500)} | {at(0, "hot"): 0.9}
    before = {at(number): number % 2 for number in range(500)} | {at(0, "hot"): 0}
    found = place(RouteView(shares, range(3), before), LIMITS, Scope.STICKY)
    assert found.moves == (Move(at(0, "hot"), 0, 2, Reason.HOT),)


def test_with_only_hot_partitions_and_too_few_carriers_all_are_placed():
    shares = {at(number): 1.0 for number in range(3)}
    found = place(RouteView(shares, range(2)), LIMITS, Scope.STICKY)
    assert set(found.where) == set(shares)
    assert sorted(found.loads.values()) == [1.0, 2.0]


def test_hot_partitions_do_not_swap_carriers():
    shares = {at(0, "hot"): 0.8, at(1, "hot"): 0.9} | even(6)
    before = {at(0, "hot"): 1, at(1, "hot"): 0} | {at(n): 0 if n < 2 else 2 for n in range(6)}
    found = place(RouteView(shares, range(3), before), Limits(), Scope.STICKY)
    assert {move.reason for move in found.moves} == {Reason.MAKES_ROOM}
    assert len(found.moves) == 2
