"""Tests of visibility: rows seen at a mark, settle points, the horizon."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.upsert.fold import bootstrapped, fold
from aggregator.upsert.tick import OPEN, ROW_BITS
from aggregator.upsert.version import Version
from aggregator.upsert.visibility import (
    MarkRefused,
    ReplicaCount,
    SettlePoint,
    admitted_since_ms,
    check_mark,
    day_begin_s,
    day_of,
    has_ends,
    has_settled,
    oldest_readable,
    remembered_since_s,
    row_id_end,
    settled_at,
    shown_since_s,
)
from tests.aggregator.upsert.upsert_visible import (
    is_behind,
    is_visible,
    settled_until,
)


def seen(begin, end, mark, *, settled=0, until=OPEN):
    """Returns True if a row of tick `begin` that ended with tick `end` is seen at a mark."""
    row_id = (begin << ROW_BITS) + 5
    ended = {row_id} if end is not None and is_behind(end, settled, mark) else set()
    return is_visible(row_id, until, mark, ended)


@given(st.integers(1, 9), st.none() | st.integers(1, 9), st.lists(st.integers(1, 9)), st.data())
def test_a_row_is_seen_from_its_tick_up_to_that_of_its_end_whatever_is_settled(
    begin, end, points, data
):
    end = None if end is None else max(begin, end)
    published = sorted(set(points))
    until, former = OPEN, 0
    for point in published:
        if end is not None and is_behind(end, former, point):
            until = settled_until(until, point)
        former = point
    for mark in range(published[0] if published else 0, 11):
        is_there = begin <= mark and (end is None or mark < end)
        assert seen(begin, end, mark, settled=settled_at(mark, published), until=until) == is_there


def test_a_row_that_a_bootstrap_forgets_while_it_is_seen_is_seen_beside_the_next_of_its_key():
    """Nothing ends the old row, so that no row may be forgotten that a query sees."""
    old = Version(20, 0, 0, 0, 1 << ROW_BITS, False)
    new = Version(90, 0, 1, 0, 3 << ROW_BITS, False)
    for state in ({}, bootstrapped([(b"key", old)])):
        ended = {each.row_id for each in fold(3, [(b"key", new)], state).ends}
        rows = [it for it in (old, new) if is_visible(it.row_id, OPEN, 3, ended)]
        assert rows == ([new] if state else [old, new])


def test_deletes_are_remembered_for_as_long_as_older_records_are_admitted():
    assert remembered_since_s(100 * 3_600_000 + 999, 36.0) == 64 * 3600
    assert remembered_since_s(5, 336.0) == 0


@given(st.integers(0, 2**42), st.integers(0, 2**36), st.floats(1, 336))
def test_no_record_that_a_tick_admits_is_hidden_at_the_tick(time_ms, later_ms, hours):
    """The days that are seen begin with that of the oldest record, and never go back."""
    since_s = shown_since_s(time_ms, hours)
    assert since_s <= max(0, admitted_since_ms(time_ms, hours)) // 1000 < since_s + 86_400
    assert since_s == day_begin_s(day_of(since_s))
    assert shown_since_s(time_ms + later_ms, hours) >= since_s


def test_a_row_of_a_day_that_is_over_is_not_seen():
    row_id, since_s = 4 << ROW_BITS, shown_since_s(20_000 * 86_400_000 + 5, 24.0)
    assert since_s == 19_999 * 86_400
    assert is_visible(row_id, OPEN, 4, (), time_s=since_s, since_s=since_s)
    assert not is_visible(row_id, OPEN, 4, (), time_s=since_s - 1, since_s=since_s)


def test_a_delete_is_never_seen():
    assert not any(seen(3, None, mark, until=3) for mark in range(8))


def test_a_row_of_the_tick_of_the_mark_is_seen_and_one_of_the_next_is_not():
    assert seen(4, None, 4)
    assert not seen(5, None, 4)
    assert row_id_end(4) == 5 << ROW_BITS


def test_settling_never_raises_an_end():
    assert settled_until(OPEN, 7) == settled_until(9, 7) == 7
    assert settled_until(5, 7) == 5


@pytest.mark.parametrize(
    ("count", "is_named"),
    [
        (ReplicaCount(7, 0), True),
        (ReplicaCount(9, 0), True),
        (ReplicaCount(7, 1), False),
        (ReplicaCount(6, 0), False),
        (None, False),
    ],
    ids=["all ended", "it has more", "a row is open", "it lags", "it does not answer"],
)
def test_a_settle_point_names_a_server_that_has_ended_all_rows(count, is_named):
    assert has_settled(count, 7) is is_named


def test_a_mark_outside_of_the_history_is_refused_naming_the_limit():
    for mark in (5, 7, 9):
        check_mark(mark, 5, 9)
    with pytest.raises(MarkRefused, match="the oldest that can be read is 5"):
        check_mark(4, 5, 9)
    with pytest.raises(MarkRefused, match="the newest that can be read is 9"):
        check_mark(10, 5, 9)


def test_the_horizon_is_the_newest_settle_point_that_is_older_than_the_history():
    points = [SettlePoint(3, 1_000), SettlePoint(7, 2_000), SettlePoint(9, 3_000)]
    assert oldest_readable(points, 62_500, 60) == 7
    assert oldest_readable(points, 60_999, 60) == 0
    assert oldest_readable(points, 62_500, 60, before=8) == 8
    assert oldest_readable([], 62_500, 60) == 0


@given(st.lists(st.integers(0, 20)), st.integers(0, 20), st.integers(0, 5))
def test_no_query_of_a_server_that_has_its_ends_reads_one_up_to_the_horizon(points, horizon, more):
    mark = horizon + more
    settled = settled_at(mark, points)
    if has_ends(settled, horizon):
        assert not [tick for tick in range(horizon + 1) if is_behind(tick, settled, mark)]
