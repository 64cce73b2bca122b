"""Parts of a page."""

from tui.pages.page import NO_FOCUS, Action, Focus


def test_an_action_changes_something_if_it_is_confirmed():
    assert Action("H", "pause", (), confirmation="x").changes
    assert not Action("P", "plan", ()).changes


def test_nothing_is_asked_for_without_a_focus():
    assert Focus(topic=None, group=None) == NO_FOCUS
