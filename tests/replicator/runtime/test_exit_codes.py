"""Among several errors a fence decides how a daemon ends, and otherwise the first error."""

from replicator.runtime.exit_codes import decisive, leaves

FENCE = KeyError("fence")
GROUP = ExceptionGroup("", [ValueError("a"), ExceptionGroup("", [FENCE, ValueError("b")])])


def test_the_errors_of_groups_within_groups_are_found():
    assert [str(each) for each in leaves(GROUP)] == ["a", "'fence'", "b"]
    assert list(leaves(FENCE)) == [FENCE]


def test_a_fence_counts_before_all_else_and_otherwise_what_came_first():
    assert decisive(GROUP, (KeyError,)) is FENCE
    assert str(decisive(GROUP, (OSError,))) == "a"
