from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.carriers import carriers_wanted, numbered, round_inputs
from balancer.decision.round import Orders, RoundState
from balancer.decision.settings import Limits
from balancer.decision.state import Wanted
from balancer.packing.shares import BadShare
from tests.balancer.decision.routes import at, even, seen

LIMITS = Limits(carriers_min=2, carriers_max=10, calm_rounds=1)


def state_with(carriers, count=100, **known):
    where = {at(n): carriers[n % len(carriers)] for n in range(count)}
    return RoundState(where, tuple(carriers), 1, **known)


def inputs(view, limits=LIMITS, *, kept=(), is_frozen=False, is_held=False):
    return round_inputs(view, limits, kept=kept, is_frozen=is_frozen, is_held=is_held)


def test_there_are_as_many_carriers_as_the_shares_need():
    found = inputs(seen(even(350)))
    assert found.route.carriers == (0, 1, 2, 3, 4)
    assert found.wanted == Wanted(5, 5, 5)


def test_the_number_shrinks_only_with_headroom_for_every_load():
    assert inputs(seen(even(205), state=state_with([0, 1, 2, 3]))).route.carriers == (0, 1, 2, 3)
    assert inputs(seen(even(185), state=state_with([0, 1, 2, 3]))).route.carriers == (0, 1, 2)


@pytest.mark.parametrize("known", [{"is_frozen": True}, {"is_held": True}])
def test_no_carrier_is_removed_while_moves_are_held_or_frozen(known):
    view = seen(even(100), state=state_with([0, 1, 4]))
    assert inputs(view).route.carriers == (0, 1)
    assert inputs(view, **known).route.carriers == (0, 1, 4)


def test_calm_rounds_are_kept_while_moves_are_held():
    limits = replace(LIMITS, calm_rounds=3)
    held = state_with([0, 1, 2, 3], wanted=Wanted(4, 2, 2, (2, 2)))
    found = inputs(seen(even(100), state=held), limits, is_held=True)
    assert (found.wanted.carriers, found.wanted.calm) == (4, (2, 2))


def test_only_a_freeze_prevents_growth():
    view = seen(even(350), state=state_with([0, 1, 2]))
    assert inputs(view, is_held=True).route.carriers == (0, 1, 2, 3, 4)
    assert inputs(view, is_frozen=True).route.carriers == (0, 1, 2)


def test_a_lowered_carriers_max_is_obeyed_while_held_but_not_while_frozen():
    view, limits = seen(even(100), state=state_with([0, 1, 2])), Limits(carriers_max=2)
    assert inputs(view, limits, is_held=True).route.carriers == (0, 1)
    assert inputs(view, limits, is_frozen=True).route.carriers == (0, 1, 2)


def test_without_loads_the_number_stays_or_is_that_of_the_slots():
    assert inputs(seen({}, degraded="no rates", slots=5)).route.carriers == (0, 1, 2, 3, 4)
    assert inputs(seen({}, degraded="no rates", slots=50)).route.carriers == tuple(range(10))
    assert inputs(seen({}, degraded="no rates")).route.carriers == (0, 1)
    found = inputs(seen(even(9), degraded="no rates", slots=5, state=state_with([0, 3, 4])))
    assert found.route.carriers == (0, 3, 4)


def test_an_excluded_carrier_is_replaced():
    orders = Orders(excluded={0: "a bad disk"})
    found = inputs(seen(even(150), state=state_with([0, 1, 2]), orders=orders))
    assert found.route.carriers == (1, 2, 3)


def test_a_pin_to_a_missing_or_excluded_carrier_is_impossible():
    orders = Orders(pins={at(0): 1, at(1): 9, at(2): 0, at(500): 1}, excluded={0: "a bad disk"})
    found = inputs(seen(even(150), state=state_with([0, 1, 2]), orders=orders))
    assert found.route.pins == {at(0): 1}
    assert found.impossible_pins == {at(1): 9, at(2): 0}


def test_a_kept_vanished_partition_has_the_mean_share():
    shares = {at(0): 0.1, at(1): 0.3}
    found = inputs(seen(shares, state=state_with([0, 1], 3)), kept=[at(2)])
    assert found.route.shares == pytest.approx(shares | {at(2): 0.2})
    assert inputs(seen({}, state=state_with([0], 1)), kept=[at(0)]).route.shares == {at(0): 0.0}


def test_an_invalid_share_is_refused_by_the_name_of_its_partition():
    with pytest.raises(ValueError, match="clicks-1: share nan"):
        inputs(seen({at(0): 0.1, at(1): float("nan")}))


PATIENT = Limits(carriers_min=2, carriers_max=10, threshold=0.7, calm_rounds=3)


def adding_up_to(total):
    return np.full(round(total * 100), 0.01)


@pytest.mark.parametrize(("total", "carriers"), [(0.0, 2), (1.5, 3), (6.9, 10), (9.0, 10)])
def test_the_number_follows_from_the_threshold_within_the_limits(total, carriers):
    assert carriers_wanted(adding_up_to(total), PATIENT).carriers == carriers


def test_lacking_counts_the_carriers_above_carriers_max():
    found = carriers_wanted(adding_up_to(9.0), PATIENT)
    assert (found.needed, found.lacking) == (13, 3)


def test_each_hot_share_has_a_carrier_of_its_own():
    found = carriers_wanted(np.array([0.8, 5.0, 0.3, 0.3]), PATIENT)
    assert (found.needed, found.at_least) == (3, 3)


def rounds(*totals, present, limits=PATIENT):
    """Returns the number of carriers after each round."""
    seen, wanted = [], None
    for total in totals:
        wanted = carriers_wanted(adding_up_to(total), limits, present=present, last=wanted)
        present = wanted.carriers
        seen.append(present)
    return seen


def test_the_number_grows_at_once_and_shrinks_after_calm_rounds():
    assert rounds(3.4, 1.5, 1.5, 1.5, 1.5, present=2) == [5, 5, 5, 3, 3]


def test_a_round_that_needs_all_carriers_restarts_the_calm_rounds():
    assert rounds(1.5, 1.5, 3.4, 1.5, 1.5, 1.5, present=5) == [5, 5, 5, 5, 5, 3]


def test_the_number_shrinks_to_the_largest_need_of_the_calm_rounds():
    assert rounds(2.7, 2.7, 1.5, present=5) == [5, 5, 4]


def test_calm_rounds_count_only_once():
    assert rounds(2.7, 2.7, 2.7, 1.5, 1.5, 1.5, present=5) == [5, 5, 4, 4, 4, 3]


def test_a_lowered_carriers_max_is_obeyed_without_calm_rounds():
    assert rounds(1.5, 1.5, 1.5, present=20) == [10, 10, 3]


def test_the_first_invalid_share_is_named():
    with pytest.raises(BadShare, match="item 2"):
        carriers_wanted(np.array([0.9, 0.9, float("nan")]), PATIENT)


def test_partitions_need_carriers_even_if_idle():
    limits = Limits(partitions_max=10)
    assert carriers_wanted(np.zeros(95), limits) == Wanted(10, 10, 10)


@given(st.lists(st.floats(0, 2), max_size=30), st.integers(0, 12))
def test_the_number_is_always_within_the_limits(shares, present):
    found = carriers_wanted(np.array(shares), PATIENT, present=present)
    assert 2 <= found.carriers <= 10
    assert found.at_least <= found.needed


NUMBERS = st.frozensets(st.integers(0, 12))


def test_first_carriers_are_numbered_from_0():
    assert numbered(3, (), {}, (), ()) == (0, 1, 2)


def test_additional_carriers_get_the_lowest_free_numbers():
    assert numbered(5, (0, 2, 4), {}, (), ()) == (0, 1, 2, 3, 4)


def test_the_least_loaded_carriers_are_removed_and_of_equal_ones_the_highest_number():
    loads = {0: 0.5, 1: 0.101, 2: 0.52, 3: 0.112, 4: 0.51}
    assert numbered(4, range(5), loads, (), ()) == (0, 1, 2, 4)
    assert numbered(3, range(5), loads, (), ()) == (0, 2, 4)
    assert numbered(2, range(5), loads, (), ()) == (0, 2)


def test_a_carrier_with_a_pinned_partition_is_not_removed():
    assert numbered(2, range(4), {}, {3}, ()) == (0, 3)
    assert numbered(1, range(4), {}, {2, 3}, ()) == (2, 3)


def test_excluded_carriers_are_replaced():
    assert numbered(3, (0, 1, 2), {}, (), {1}) == (0, 2, 3)
    assert numbered(2, (), {}, (), {0, 1}) == (2, 3)


@given(st.integers(1, 8), NUMBERS, NUMBERS, NUMBERS)
def test_there_are_as_many_numbers_as_wanted_or_as_pins_keep(wanted, present, pinned, excluded):
    found = numbered(wanted, present, {}, pinned, excluded)
    assert not set(found) & excluded
    assert len(found) == max(wanted, len((pinned & present) - excluded))
    assert [*found] == sorted(set(found))
