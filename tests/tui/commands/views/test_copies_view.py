"""Output of the copies of other regions' logs."""

from tui.commands.views.copies_view import as_text, as_values
from tui.facts.copies import RegionCopy

COPIES = [
    RegionCopy("west", "commits", 0.31, groups=12),
    RegionCopy("west", "runs east>west", None, partitions=3, runs=400),
    RegionCopy("west", "runs west>west", 1.0, partitions=3, runs=None),
]


def test_what_is_unknown_is_a_question_mark_and_what_there_is_none_of_is_empty(assert_snapshot):
    assert_snapshot(as_text(COPIES), "copies")


def test_values_have_null_for_both():
    assert as_values(COPIES)[1] == {
        "region": "west",
        "of": "runs east>west",
        "age_seconds": None,
        "groups": None,
        "partitions": 3,
        "runs": 400,
    }
