"""Tests of the parts in which a task inserts a block, and of the rows that a store has already."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from aggregator.upsert.row_task import RECORD_BYTES, RowTask, parts_of, row_tasks
from aggregator.upsert.stored_rows import StoredRows
from replicator.config.topology import Appliance
from tests.aggregator.upsert.tick_records import Rules, reading, records, rows_schema, tick_of


async def parts(*given, bytes_max):
    async def source():
        for each in given:
            yield each

    return [
        [(each.lane, each.records.offset.tolist()) for each in part]
        async for part in parts_of(source(), bytes_max)
    ]


@pytest.mark.parametrize("cuts", [(6,), (1, 5), (3, 3), (2, 2, 2), (1, 1, 1, 1, 1, 1)])
async def test_where_a_part_of_a_block_ends_does_not_depend_on_how_records_were_fetched(cuts):
    given, first = [], 0
    for count in cuts:
        given.append(records(0, first, *[b"x" * 16] * count))
        first += count
    size = int(given[0].records.record_bytes[0]) + RECORD_BYTES
    found = await parts(*given, bytes_max=4 * size)
    offsets = [[at for _, some in part for at in some] for part in found]
    assert offsets == [[0, 1, 2, 3], [4, 5]]


async def test_a_part_spans_lanes_and_a_record_that_is_too_large_is_a_part_of_its_own():
    small, large = b"x", b"x" * 1000
    found = await parts(records(0, 0, small, large), records(2, 7, small, small), bytes_max=500)
    assert found == [[(0, [0])], [(0, [1])], [(2, [7, 8])]]
    found = await parts(records(0, 0, small), records(2, 7, small), bytes_max=500)
    assert found == [[(0, [0]), (2, [7])]]
    assert await parts(bytes_max=500) == []


def test_facts_of_stored_rows_are_those_of_the_records():
    tick = tick_of((10, 12), (0, 0), (5, 7), rows_per_record=4)
    rules, schema = Rules(delete_column="gone"), rows_schema(id="UInt64", gone="UInt8")
    lanes = reading(tick, rules, schema)
    rows = lanes.rows(
        [
            records(0, 10, b'[{"id":1},{"id":2}]', b'{"id":1,"gone":1}'),
            records(2, 5, b'{"id":3}', b'[{"id":4},{"id":5},{"id":6}]'),
        ]
    )
    stored = StoredRows(
        rows.row_id,
        rows.key.cast(pa.binary()),
        rows.order,
        rows.is_delete,
        np.ones(len(rows), np.int64),
    )
    facts, notes = stored.facts(lanes)
    assert facts.to_pylist() == rows.facts.to_pylist()
    assert [(each.lane, each.rows) for each in notes] == [(0, 3), (2, 4)]
    assert len(stored.without(rows.row_id[2:])) == 2


@pytest.mark.parametrize(("records_of_tick", "tasks"), [(0, 0), (5, 1), (100, 3), (1000, 4)])
def test_each_block_of_a_tick_is_of_one_task(records_of_tick, tasks):
    tick = tick_of((0, records_of_tick), block_rows=40)
    whole = RowTask(
        appliance=Appliance.model_construct(), feed="f", table="t", tick=tick, blocks=()
    )
    found = row_tasks(whole, 4)
    assert len(found) == tasks
    assert [block for each in found for block in each.blocks] == list(range(tick.blocks))
