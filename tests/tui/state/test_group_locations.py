"""Locations of groups: members in other regions than the one that is meant."""

from tests.tui.cli.views.test_groups_view import locations


def test_members_are_elsewhere_only_where_a_region_is_meant():
    found = locations(west="orders", east="orders")
    assert found.elsewhere("orders", "west") == ("east",)
    assert found.elsewhere("orders", None) == ()
