"""Shrinking of wrong histories."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.world.shrinking import shrunk


@given(st.sets(st.integers(1, 40), max_size=4), st.integers(40, 60))
def test_only_the_deals_that_matter_are_left(needed: set[int], count: int) -> None:
    def is_wrong(kept: Sequence[int]) -> bool:
        return needed <= set(kept)

    assert shrunk(range(1, count + 1), is_wrong) == sorted(needed)
