from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.carrier_numbers import numbered

NUMBERS = st.frozensets(st.integers(0, 12))


def test_the_first_are_counted_from_0():
    assert numbered(3, (), {}, (), ()) == (0, 1, 2)


def test_more_get_the_lowest_numbers_that_are_free():
    assert numbered(5, (0, 2, 4), {}, (), ()) == (0, 1, 2, 3, 4)


def test_those_with_the_least_load_go_and_of_equal_ones_the_highest_number():
    loads = {0: 0.5, 1: 0.101, 2: 0.52, 3: 0.112, 4: 0.51}
    assert numbered(4, range(5), loads, (), ()) == (0, 1, 2, 4)
    assert numbered(3, range(5), loads, (), ()) == (0, 2, 4)
    assert numbered(2, range(5), loads, (), ()) == (0, 2)


def test_one_that_something_is_pinned_to_does_not_go():
    assert numbered(2, range(4), {}, {3}, ()) == (0, 3)
    assert numbered(1, range(4), {}, {2, 3}, ()) == (2, 3)


def test_others_take_the_place_of_those_excluded():
    assert numbered(3, (0, 1, 2), {}, (), {1}) == (0, 2, 3)
    assert numbered(2, (), {}, (), {0, 1}) == (2, 3)


@given(st.integers(1, 8), NUMBERS, NUMBERS, NUMBERS)
def test_they_are_as_many_as_wanted_or_as_pins_keep(wanted, present, pinned, excluded):
    found = numbered(wanted, present, {}, pinned, excluded)
    assert not set(found) & excluded
    assert len(found) == max(wanted, len((pinned & present) - excluded))
    assert [*found] == sorted(set(found))
