"""Output of copies; tests/live/test_offsets_daemon.py has the tests with real servers."""

from tui.state.copies_probe import CopyShown, as_text, as_values

COPIES = [
    CopyShown("west", "commits", 0.31, groups=12),
    CopyShown("west", "runs east>west", None, partitions=3, runs=400),
    CopyShown("west", "runs west>west", 1.0, partitions=3, runs=None),
]


def test_what_is_unknown_is_a_question_mark_and_what_there_is_none_of_is_empty():
    assert as_text(COPIES).splitlines() == [
        "REGION  COPY OF         AGE (S)  GROUPS  PARTITIONS  RUNS",
        "west    commits             0.3      12",
        "west    runs east>west        ?                   3   400",
        "west    runs west>west      1.0                   3     ?",
    ]


def test_values_have_null_for_both():
    assert as_values(COPIES)[1] == {
        "region": "west",
        "of": "runs east>west",
        "age_seconds": None,
        "groups": None,
        "partitions": 3,
        "runs": 400,
    }
