"""Tests of low-water marks: of partitions, servers and a table."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aggregator.upsert.mark import Claimed, Level, lag_seconds, server_mark, table_mark

LAG = 30.0


def marked(*, now=100.0, claims=(), before=0, **servers):
    return table_mark(servers, [Claimed(*each) for each in claims], now, LAG, before=before)


def test_the_mark_of_a_partition_is_the_lesser_of_its_rows_and_its_updates():
    """LWM(t, i, j) = min(ingestion level, updater level)"""
    assert Level(rows=1200, updates=1100).mark == 1100
    assert Level(rows=900, updates=1100).mark == 900


def test_the_mark_of_a_server_is_that_of_its_slowest_partition():
    """LWM(t, i) = min over j of LWM(t, i, j)"""
    assert server_mark({0: Level(12, 11), 1: Level(9, 14), 2: Level(13, 13)}) == 9
    assert server_mark({}) == 0


def test_the_mark_of_a_table_is_that_of_its_slowest_server():
    """LWM(t) = min over i of LWM(t, i)"""
    assert marked(a=1200, b=1100, c=900).tick == 900
    assert marked(a=1200, b=1300).tick == 1200


def test_a_server_that_does_not_answer_holds_up_nobody():
    found = marked(a=12, b=None)
    assert (found.tick, dict(found.servers)) == (12, {"a": 12})
    assert found.left_out == {"b": "does not answer"}


def test_a_server_that_lags_is_left_out_and_the_reason_is_told():
    claims = [(11, 69.0), (12, 99.0)]
    found = marked(a=12, b=10, claims=claims)
    assert (found.tick, set(found.servers)) == (12, {"a"})
    assert found.left_out == {"b": "has tick 10, and lacks the next one for 31 s"}


def test_a_server_that_lags_for_less_holds_the_mark():
    assert marked(a=12, b=10, claims=[(11, 71.0), (12, 99.0)]).tick == 10


def test_time_without_ticks_is_no_lag():
    """A table may be idle for an hour; the server lacks its next tick for a second."""
    assert lag_seconds(10, [Claimed(10, 0.0), Claimed(11, 3600.0)], 3601.0) == 1.0
    assert marked(now=3601.0, a=11, b=10, claims=[(10, 0.0), (11, 3600.0)]).tick == 10
    assert lag_seconds(11, [Claimed(10, 0.0), Claimed(11, 0.0)], 3601.0) == 0.0


def test_a_server_returns_by_itself_and_the_mark_never_goes_back():
    claims = [(11, 0.0), (12, 80.0)]
    assert marked(a=12, b=10, claims=claims).tick == 12
    still = marked(a=12, b=11, claims=claims, before=12)
    assert (still.tick, set(still.servers)) == (12, {"a"})
    back = marked(a=12, b=12, claims=claims, before=12)
    assert (back.tick, set(back.servers)) == (12, {"a", "b"})


def test_without_a_server_there_is_no_mark():
    assert marked().tick is None
    assert marked(a=None).tick is None
    found = marked(a=5, claims=[(6, 0.0)])
    assert (found.tick, dict(found.servers)) == (None, {})


marks = st.dictionaries(st.sampled_from("abcd"), st.none() | st.integers(0, 9), max_size=4)


@given(marks, st.lists(st.tuples(st.integers(1, 9), st.integers(0, 200)), max_size=6), st.data())
def test_each_server_that_may_be_asked_has_the_mark(servers, claims, data):
    before = data.draw(st.integers(0, 9))
    found = marked(claims=claims, before=before, **servers)
    assert set(found.servers) | set(found.left_out) == set(servers)
    assert not set(found.servers) & set(found.left_out)
    if found.tick is not None:
        assert found.tick >= before
        assert found.servers and all(each >= found.tick for each in found.servers.values())
