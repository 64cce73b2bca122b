"""A table is trusted to recognize a block only if it surely remembers it."""

from __future__ import annotations

import pytest

from aggregator.store.block_memory import BlockMemory

NOW_MS = 1_000_000_000


@pytest.mark.parametrize(
    ("count", "oldest_age_s", "sealed_age_s", "is_reached"),
    [
        (0, 0, 30, True),  # an empty memory has forgotten nothing
        (50, 20, 30, True),
        (100, 20, 30, False),  # full, and the oldest known block is younger
        (100, 40, 30, True),
        (50, 3500, 3550, False),  # older than nine tenths of the window's seconds
        (50, 3600, 3550, True),
    ],
)
def test_the_window_reaches_back_to_a_block(count, oldest_age_s, sealed_age_s, is_reached):
    oldest_ms = NOW_MS - oldest_age_s * 1000 if count else 0
    memory = BlockMemory(count, oldest_ms, window=100, window_seconds=3600)
    assert memory.reaches(NOW_MS - sealed_age_s * 1000, NOW_MS) is is_reached
