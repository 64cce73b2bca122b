"""Totals: an unknown part stays unknown in every sum."""

from hypothesis import given
from hypothesis import strategies as st

from tui.facts.totals import largest, total


@given(st.lists(st.none() | st.integers(0, 100)))
def test_a_sum_with_an_unknown_part_is_unknown(parts: list[int | None]) -> None:
    known = [part for part in parts if part is not None]
    whole = len(known) == len(parts) and bool(parts)
    assert total(parts) == (sum(known) if whole else None)
    assert largest(parts) == (max(known) if whole else None)
