"""Tests of ticks."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from aggregator.upsert.tick import Lane, LaneRange, Tick, tick_of

LANES = tuple(Lane("west aggregate", "orders", UUID(int=1), number) for number in range(3))
TICK = Tick(1, 7, 0, LANES, (LaneRange(10, 15), LaneRange(3, 3), LaneRange(100, 102)))


def test_each_offset_of_a_tick_has_a_row_id_of_its_own():
    ids = [
        TICK.row_id(lane, offset)
        for lane, each in enumerate(TICK.ranges)
        for offset in range(each.begin, each.end)
    ]
    assert ids == [(7 << 32) + number for number in range(7)]
    assert len(ids) == TICK.offsets
    assert {tick_of(each) for each in ids} == {7}


def test_rows_of_a_record_follow_each_other():
    tick = Tick(1, 2, 0, LANES[:1], (LaneRange(5, 9),), rows_per_record=4)
    assert tick.row_id(0, 6, 3) + 1 == tick.row_id(0, 7) == (2 << 32) + 8


def test_the_ends_of_a_tick_are_the_first_offsets_that_it_does_not_take():
    assert TICK.ends == (15, 3, 102)


def test_blocks_hold_each_row_id_once_and_span_lanes():
    tick = replace(TICK, block_rows=3)
    assert tick.row_numbers == 7
    blocks = [tick.block_row_ids(each) for each in range(tick.blocks)]
    assert [len(each) for each in blocks] == [3, 3, 1]
    assert [each for block in blocks for each in block] == [(7 << 32) + at for at in range(7)]


def test_a_tick_without_offsets_has_no_blocks():
    assert Tick(1, 1, 0, LANES[:1], (LaneRange(4, 4),)).blocks == 0
