"""Locations of groups: members in other regions than the one that is meant."""

from tests.tui.commands.views.test_groups_view import locations
from tui.facts.group_locations import is_application


def test_members_are_elsewhere_only_where_a_region_is_meant():
    found = locations(west="orders", east="orders")
    assert found.elsewhere("orders", "west") == ("east",)
    assert found.elsewhere("orders", None) == ()


def test_groups_of_sluice_are_none_of_an_application():
    assert is_application("orders") and not is_application("sluice.runs")
