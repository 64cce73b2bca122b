"""Tests of blocks of a tick's rows, as a server reads them."""

from __future__ import annotations

import pytest

from aggregator.tables.table_schema import TableSchema
from aggregator.upsert.row_block import (
    NoRowsTable,
    RowBlock,
    RowBlockName,
    Sending,
    check_rows_table,
    identities,
)
from aggregator.upsert.tick import OPEN
from tests.aggregator.tables.engine import read_from
from tests.aggregator.upsert.tick_records import (
    NOW_MS,
    Rules,
    reading,
    records,
    rows_schema,
    tick_of,
)

SCHEMA = rows_schema(id="UInt64", text="LowCardinality(String)")
TICK = tick_of((10, 12), (0, 0), (5, 7))
RULES = Rules(empty_value_deletes=True)
NAME = RowBlockName("shop", "orders", 1, TICK.row_id(0, 10), TICK.row_id(2, 6) + 1)
FIRST = Sending(is_first=True, moment=None, now_ms=NOW_MS)
PARTS = (
    records(0, 10, b'{"id":1,"text":"a"}', None, keys=[b"", b"1"]),
    records(2, 5, b'{"id":2}', b'{"id":3,"text":"b"}'),
)


def block_of(*parts, schema=SCHEMA):
    return RowBlock(TICK, reading(TICK, RULES, schema).rows(parts), schema)


def read(native, what="*"):
    return read_from(native.bytes_of(revision=0), what)


def test_a_block_spans_topics_and_clusters_and_each_row_has_its_own_coordinates():
    found = read(block_of(*PARTS).native(), "_cluster, _topic, _partition, _offset, _row, _row_id")
    ids = [TICK.row_id(lane, offset) for lane, offset in ((0, 10), (0, 11), (2, 5), (2, 6))]
    assert found == [
        ["west regional", "orders", 0, 10, 0, ids[0]],
        ["west regional", "orders", 0, 11, 0, ids[1]],
        ["east regional", "returns", 0, 5, 0, ids[2]],
        ["east regional", "returns", 0, 6, 0, ids[3]],
    ]


def test_a_delete_ends_at_its_own_tick_and_other_rows_are_open():
    found = read(
        block_of(*PARTS).native(), "id, text, _deleted, _until, _order, toUnixTimestamp(_time)"
    )
    time_s = NOW_MS // 1000
    assert found == [
        [1, "a", 0, OPEN, NOW_MS, time_s],
        [1, "", 1, TICK.number, NOW_MS, time_s],
        [2, "", 0, OPEN, NOW_MS, time_s],
        [3, "b", 0, OPEN, NOW_MS, time_s],
    ]


def test_the_key_of_a_row_is_that_of_its_fact():
    block = block_of(*PARTS)
    found = [row[0] for row in read(block.native(), "hex(_key)")]
    assert found == [each.hex().upper() for each in block.rows.key.to_pylist()]


def test_the_same_records_are_the_same_bytes_however_they_were_fetched():
    split = (
        records(0, 10, b'{"id":1,"text":"a"}'),
        records(0, 11, None, keys=[b"1"]),
        *PARTS[1:],
    )
    assert block_of(*split).native() is not block_of(*PARTS).native()
    assert block_of(*split).native().bytes_of(revision=0) == block_of(*PARTS).native().bytes_of(
        revision=0
    )


def test_rows_that_leave_other_columns_to_the_server_go_in_inserts_of_their_own():
    # Servers differ in the empty Date32.
    schema = rows_schema(id="UInt64", day="Date32")
    block = block_of(
        records(0, 10, b'{"id":1,"day":"2026-01-02"}', b'{"id":2}'),
        records(2, 5, b'{"id":3,"day":"2026-01-02"}'),
        schema=schema,
    )
    inserts = block.outgoing(NAME, FIRST)
    assert len(inserts) == 2
    assert len({str(each.name) for each in inserts}) == 2
    ids = sorted(row for each in inserts for row in each.identities.offset.tolist())
    assert ids == [TICK.row_id(0, 10), TICK.row_id(0, 11), TICK.row_id(2, 5)]


def test_the_rest_of_a_block_is_encoded_alone():
    block = block_of(*PARTS)
    [outgoing] = block.outgoing(NAME, FIRST)
    mask = ~outgoing.identities.among(identities(block.rows.row_id[:2]))
    assert [row[0] for row in read(outgoing.rest(mask), "id")] == [2, 3]


def test_a_block_without_rows_needs_no_insert():
    assert block_of().outgoing(NAME, FIRST) == []


def test_a_table_of_rows_that_is_missing_or_incomplete_is_refused_by_name():
    with pytest.raises(NoRowsTable, match="sluice upsert create"):
        check_rows_table("orders__rows", None)
    columns = tuple(each for each in SCHEMA.columns if each.name != "_until")
    with pytest.raises(NoRowsTable, match="_until UInt32"):
        check_rows_table("orders__rows", TableSchema("orders__rows", columns))
    assert check_rows_table("orders__rows", SCHEMA) is SCHEMA
