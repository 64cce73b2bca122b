"""Words of causes: names that are too many."""

import pytest

from tui.facts.alert_cause import some_of


@pytest.mark.parametrize(
    ("names", "text"),
    [([], ""), (["a"], "a"), (["a", "b", "c"], "a, b, c"), (list("abcde"), "a, b, c and 2 more")],
)
def test_many_names_are_cut(names, text):
    assert some_of(names) == text
