"""Tests of the blocks of rows' ends."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.upsert.row_ends import ends_block, ends_table
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


def octets(ends: pa.Table) -> bytes:
    return ends_block(ends).bytes_of(revision=0)


@given(ENDS, st.randoms(use_true_random=False))
def test_a_tick_that_is_done_again_sends_the_same_bytes_in_whatever_order_its_ends_come(
    ends, random
):
    shuffled = list(ends)
    random.shuffle(shuffled)
    assert octets(ends_table(shuffled)) == octets(ends_table(ends))


@given(ENDS)
def test_an_end_that_comes_twice_is_sent_once(ends):
    block = ends_block(ends_table([*ends, *ends]))
    assert block.rows == len(ends)
    assert block.bytes_of(revision=0) == octets(ends_table(ends))


def test_the_block_has_all_columns_of_the_table():
    end = RowEnd(5 << 32, 1, 17, EndKind.LATE, 7, 7 << 32, bytes(16))
    block = ends_block(ends_table([end]))
    assert dict(zip(block.names, block.types, strict=True)) == UPDATES_COLUMNS


def test_an_end_of_an_unknown_kind_is_not_written():
    ends = ends_table([RowEnd(5 << 32, 1, 17, EndKind.LATE, 7, 7 << 32, bytes(16))])
    at = ends.column_names.index("kind")
    with pytest.raises(ValueError, match="kind that has no number"):
        ends_block(ends.set_column(at, "kind", pa.array(["gone"])))
