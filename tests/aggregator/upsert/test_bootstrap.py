"""Tests of the plans of bootstraps, and of the facts that packed rows become."""

from __future__ import annotations

from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.upsert.bootstrap import (
    NO_PLACE,
    PACKED,
    BootstrapPlan,
    LaneNumbers,
    Slice,
    UnknownLane,
    facts_of,
    first_ticks,
    slice_query,
    slices_of,
)
from aggregator.upsert.facts import FACTS
from aggregator.upsert.tick import Lane


def lane(topic: str, partition: int, topic_id: int = 1) -> Lane:
    return Lane("west aggregate", topic, UUID(int=topic_id), partition)


LANES = (lane("orders", 0), lane("orders", 1), lane("orders", 0, topic_id=2))
PLAN = BootstrapPlan("t", 9, 5_000, LANES, (1, 1, 6))


def packed(*rows: tuple) -> np.ndarray:
    return np.array(list(rows), PACKED)


@given(st.lists(st.integers(1, 10**6), max_size=14), st.integers(1, 16))
def test_slices_are_all_rows_of_all_days_once_and_none_is_much_larger_than_a_tasks_share(
    counts, tasks
):
    days = list(enumerate(counts))
    found = list(slices_of(days, tasks))
    for day, count in days:
        parts = [each for each in found if each.day == day]
        assert [each.share for each in parts] == list(range(len(parts)))
        assert {each.shares for each in parts} == {len(parts)}
        assert len(parts) <= tasks
        assert count / len(parts) <= sum(counts) / tasks


def test_a_lane_is_born_with_the_first_tick_that_has_an_end_of_it():
    assert list(first_ticks(3, [(2, 1), (3, 6)])) == [1, 1, 6]
    assert list(first_ticks(0, [])) == []


def test_rows_become_facts_whose_lane_is_that_of_their_tick():
    numbers = LaneNumbers.of(LANES, (1, 1, 6))
    batch = facts_of(
        packed(
            (b"k" * 16, -7, 100, 3, (5 << 32) + 2, 0, 0),
            (b"\0" * 16, 2**62, 2**40, 0, (6 << 32) + 1, 1, 0),
            (b"l" * 16, 0, 1, 0, 1 << 32, 0, 1),
        ),
        numbers,
    )
    assert batch.schema == FACTS
    assert batch.to_pylist()[:2] == [
        {
            **{"key": b"k" * 16, "order": -7, "lane": 0, "offset": 100, "row": 3},
            **{"row_id": (5 << 32) + 2, "is_delete": False, "note": None},
        },
        {
            **{"key": b"\0" * 16, "order": 2**62, "lane": 2, "offset": 2**40, "row": 0},
            **{"row_id": (6 << 32) + 1, "is_delete": True, "note": None},
        },
    ]
    assert batch["lane"].to_pylist() == [0, 2, 1]


def test_a_row_of_no_lane_is_never_taken_for_one_of_another():
    with pytest.raises(UnknownLane):
        facts_of(
            packed((b"k" * 16, 0, 0, 0, 1 << 32, 0, NO_PLACE)), LaneNumbers.of(LANES, (1,) * 3)
        )


def test_a_table_without_rows_gives_no_facts():
    assert facts_of(packed(), LaneNumbers.of((), ())).num_rows == 0


def test_a_slice_has_the_visible_rows_of_its_day_and_deletes_within_the_retention():
    """A row that is left out, and is seen, would never end."""
    query = slice_query("shop", PLAN, Slice(20240101), 4)
    assert "_time >= toDateTime(1704067200) AND _time < toDateTime(1704153600)" in query
    assert f"_row_id < {10 << 32}" in query
    assert "(_deleted = 1 AND _time >= toDateTime(5000) OR _until > 9 AND _row_id NOT IN (" in query
    assert query.count("_time >=") == 2
    assert "WHERE tick > 4 AND tick <= 9" in query
    assert "NOT IN" not in slice_query("shop", PLAN, Slice(20240101), 9)


def test_names_of_topics_are_no_sql():
    plan = BootstrapPlan("t", 9, 0, (lane("it's\\", 0),), (1,))
    assert r"it\'s\\" in slice_query("shop", plan, Slice(20240101), 9)
