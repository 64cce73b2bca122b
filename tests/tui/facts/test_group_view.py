"""Groups as values: members in other regions than the one that is meant, and groups of Sluice."""

from tui.facts.group_view import GroupView, is_application


def test_members_are_elsewhere_only_where_a_region_is_meant():
    found = GroupView(group="orders", members=("east", "west"))
    assert found.elsewhere("west") == ("east",)
    assert found.elsewhere(None) == ()


def test_groups_of_sluice_are_none_of_an_application():
    assert is_application("orders") and not is_application("sluice.runs")
