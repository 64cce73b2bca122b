"""Groups with members outside their primary region are found, and no others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replicator.groups.membership.out_of_place import OutOfPlace, out_of_place
from replicator.groups.membership.primary_region import PrimaryRegion

REGIONS = ["west", "east", "south"]
GROUPS = ["orders", "bills", "mails"]


def lives_in(group: str, region: str | None) -> dict[str, PrimaryRegion]:
    return {group: PrimaryRegion(group, region, 1, 1, "ann@ops", "why")}


def active(**regions: str) -> dict[str, frozenset[str]]:
    return {region: frozenset(groups.split()) for region, groups in regions.items()}


def test_a_group_that_is_active_where_it_lives_is_in_place():
    assert out_of_place(lives_in("orders", "west"), active(west="orders", east="bills")) == {}


def test_a_group_that_is_active_elsewhere_is_out_of_place():
    (found,) = out_of_place(lives_in("orders", "west"), active(west="", east="orders")).values()
    assert found == OutOfPlace("orders", "west", ("east",))
    assert (found.is_twice, found.outside) == (False, ("east",))
    assert str(found) == "group 'orders' has members in east; it lives in west"


def test_a_group_that_is_active_where_it_lives_and_elsewhere_is_active_twice():
    (found,) = out_of_place(
        lives_in("orders", "west"), active(west="orders", east="orders")
    ).values()
    assert (found.is_twice, found.active, found.outside) == (True, ("east", "west"), ("east",))


def test_a_group_that_is_active_in_two_other_regions_is_active_twice():
    everywhere = active(south="orders", east="orders")
    (found,) = out_of_place(lives_in("orders", "west"), everywhere).values()
    assert (found.is_twice, found.outside) == (True, ("east", "south"))


def test_a_group_without_a_record_or_without_a_region_may_be_active_everywhere():
    everywhere = active(west="orders bills", east="orders bills")
    assert out_of_place(lives_in("orders", None), everywhere) == {}
    assert out_of_place({}, everywhere) == {}


PRIMARIES = st.dictionaries(st.sampled_from(GROUPS), st.sampled_from([*REGIONS, None])).map(
    lambda found: {group: lives_in(group, region)[group] for group, region in found.items()}
)
ACTIVE = st.dictionaries(st.sampled_from(REGIONS), st.frozensets(st.sampled_from(GROUPS)))


@given(PRIMARIES, ACTIVE)
def test_a_group_is_out_of_place_just_where_a_region_that_is_not_its_primary_has_members(
    primaries, active
):
    found = out_of_place(primaries, active)
    expected = {
        (group, region)
        for region, groups in active.items()
        for group in groups
        if group in primaries and primaries[group].region not in (None, region)
    }
    assert {(it.group, region) for it in found.values() for region in it.outside} == expected
