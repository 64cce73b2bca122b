"""Number with its noun."""

from tui.facts.counted import counted


def test_one_is_singular_and_all_others_are_plural():
    assert counted(1, "group") == "1 group"
    assert counted(0, "group") == "0 groups"
    assert counted(1200, "group") == "1,200 groups"
