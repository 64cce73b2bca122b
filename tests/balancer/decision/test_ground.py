import pytest

from balancer.decision.carriers_wanted import Wanted
from balancer.decision.ground import ground
from balancer.decision.limits import Limits
from balancer.decision.round import Orders, Standing
from tests.balancer.decision.routes import at, even, seen

LIMITS = Limits(carriers_min=2, carriers_max=10, calm_rounds=1)


def standing(carriers, count=100, **known):
    where = {at(n): carriers[n % len(carriers)] for n in range(count)}
    return Standing(where, tuple(carriers), 1, **known)


def of(view, limits=LIMITS, *, kept=(), is_frozen=False, is_held=False):
    return ground(view, limits, kept=kept, is_frozen=is_frozen, is_held=is_held)


def test_there_are_as_many_carriers_as_the_shares_need():
    found = of(seen(even(350)))
    assert found.route.carriers == (0, 1, 2, 3, 4)
    assert found.wanted == Wanted(5, 5, 5)


def test_fewer_have_to_do_with_a_tenth_more_of_every_load_too():
    assert of(seen(even(205), standing=standing([0, 1, 2, 3]))).route.carriers == (0, 1, 2, 3)
    assert of(seen(even(185), standing=standing([0, 1, 2, 3]))).route.carriers == (0, 1, 2)


@pytest.mark.parametrize("known", [{"is_frozen": True}, {"is_held": True}])
def test_while_nothing_may_move_none_is_taken_away(known):
    view = seen(even(100), standing=standing([0, 1, 4]))
    assert of(view).route.carriers == (0, 1)
    assert of(view, **known).route.carriers == (0, 1, 4)


def test_the_calm_that_was_waited_for_is_not_lost_while_moves_are_held():
    limits = Limits(carriers_min=2, carriers_max=10, calm_rounds=3)
    held = standing([0, 1, 2, 3], wanted=Wanted(4, 2, 2, (2, 2)))
    found = of(seen(even(100), standing=held), limits, is_held=True)
    assert (found.wanted.carriers, found.wanted.calm) == (4, (2, 2))


def test_growth_waits_for_nothing_but_a_freeze():
    view = seen(even(350), standing=standing([0, 1, 2]))
    assert of(view, is_held=True).route.carriers == (0, 1, 2, 3, 4)
    assert of(view, is_frozen=True).route.carriers == (0, 1, 2)


def test_a_lowered_limit_is_obeyed_even_if_moves_are_held_but_not_in_a_freeze():
    view, limits = seen(even(100), standing=standing([0, 1, 2])), Limits(carriers_max=2)
    assert of(view, limits, is_held=True).route.carriers == (0, 1)
    assert of(view, limits, is_frozen=True).route.carriers == (0, 1, 2)


def test_without_loads_there_are_as_many_as_before_or_else_as_there_are_slots():
    assert of(seen({}, degraded="no rates", slots=5)).route.carriers == (0, 1, 2, 3, 4)
    assert of(seen({}, degraded="no rates", slots=50)).route.carriers == tuple(range(10))
    assert of(seen({}, degraded="no rates")).route.carriers == (0, 1)
    found = of(seen(even(9), degraded="no rates", slots=5, standing=standing([0, 3, 4])))
    assert found.route.carriers == (0, 3, 4)


def test_an_excluded_carrier_is_replaced():
    orders = Orders(excluded={0: "a bad disk"})
    found = of(seen(even(150), standing=standing([0, 1, 2]), orders=orders))
    assert found.route.carriers == (1, 2, 3)


def test_a_pin_to_a_carrier_that_is_not_there_is_impossible():
    orders = Orders(pins={at(0): 1, at(1): 9, at(2): 0, at(500): 1}, excluded={0: "a bad disk"})
    found = of(seen(even(150), standing=standing([0, 1, 2]), orders=orders))
    assert found.route.pins == {at(0): 1}
    assert found.impossible == {at(1): 9, at(2): 0}


def test_a_partition_that_is_gone_and_kept_has_what_the_others_have_on_average():
    shares = {at(0): 0.1, at(1): 0.3}
    found = of(seen(shares, standing=standing([0, 1], 3)), kept=[at(2)])
    assert found.route.shares == pytest.approx(shares | {at(2): 0.2})
    assert of(seen({}, standing=standing([0], 1)), kept=[at(0)]).route.shares == {at(0): 0.0}


def test_what_is_no_load_is_refused_and_the_partition_named():
    with pytest.raises(ValueError, match="clicks-1: share nan"):
        of(seen({at(0): 0.1, at(1): float("nan")}))
