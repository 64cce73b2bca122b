"""Tests of the blocks of rows' ends."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.upsert.row_ends import ends_blocks, ends_table
from aggregator.upsert.upsert_schema import UPDATES_COLUMNS
from aggregator.upsert.version import EndKind, RowEnd

ENDS = st.lists(
    st.builds(
        RowEnd,
        row_id=st.integers(1 << 32, 1 << 50),
        lane=st.integers(0, 9),
        offset=st.integers(0, 1 << 40),
        kind=st.sampled_from(EndKind),
        tick=st.just(7),
        by_row_id=st.integers(7 << 32, (8 << 32) - 1),
        key=st.binary(min_size=16, max_size=16),
    ),
    max_size=20,
    unique_by=lambda end: end.row_id,
)


def octets(ends: pa.Table, rows_max: int = 7) -> list[bytes]:
    return [block.bytes_of(revision=0) for block in ends_blocks(ends, rows_max)]


@given(ENDS, st.randoms(use_true_random=False))
def test_a_tick_that_is_done_again_sends_the_same_bytes_in_whatever_order_its_ends_come(
    ends, random
):
    shuffled = list(ends)
    random.shuffle(shuffled)
    assert octets(ends_table(shuffled)) == octets(ends_table(ends))


@given(ENDS)
def test_an_end_that_comes_twice_is_sent_once(ends):
    twice = ends_table([*ends, *ends])
    assert sum(block.rows for block in ends_blocks(twice)) == len(ends)
    assert octets(twice) == octets(ends_table(ends))


@given(ENDS, st.integers(1, 9))
def test_a_tick_of_very_many_ends_is_cut_into_blocks_that_one_insert_can_hold(ends, rows_max):
    sizes = [block.rows for block in ends_blocks(ends_table(ends), rows_max)]
    assert sum(sizes) == len(ends)
    assert all(size == rows_max for size in sizes[:-1])
    assert all(0 < size <= rows_max for size in sizes)


def test_the_block_has_all_columns_of_the_table():
    end = RowEnd(5 << 32, 1, 17, EndKind.LATE, 7, 7 << 32, bytes(16))
    [block] = ends_blocks(ends_table([end]))
    assert dict(zip(block.names, block.types, strict=True)) == UPDATES_COLUMNS


def test_an_end_of_an_unknown_kind_is_not_written():
    ends = ends_table([RowEnd(5 << 32, 1, 17, EndKind.LATE, 7, 7 << 32, bytes(16))])
    at = ends.column_names.index("kind")
    with pytest.raises(ValueError, match="kind that has no number"):
        ends_blocks(ends.set_column(at, "kind", pa.array(["gone"])))
