"""Objects that were told of, and those that are listed, say together how far a partition is
stored."""

from __future__ import annotations

import pytest

from aggregator.driver.store_probe import combined
from aggregator.intents.stored import Stored


@pytest.mark.parametrize(
    ("end", "begin", "next_offset", "doubt"),
    [
        (None, None, None, "nothing told"),
        (40, None, 40, "nothing told"),
        (40, 30, 40, "nothing told"),
        (40, 40, 41, "an object begins at 40"),
        (None, 0, 1, "an object begins at 0"),
    ],
)
def test_what_was_told_counts_unless_a_later_object_is_listed(end, begin, next_offset, doubt):
    found = combined(end, begin, "nothing told", is_passing=False)
    assert found.next_offset == next_offset
    assert found.doubt.startswith(doubt)


def test_a_bucket_that_does_not_answer_is_a_doubt_that_passes():
    assert combined(None, None, "away", is_passing=True) == Stored(None, "away", True)
