"""Tests of the parts in which a task inserts a block, and of the rows that a store has already."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aggregator.upsert.facts import notes_by_lane
from aggregator.upsert.range_reader import RangeLost
from aggregator.upsert.row_task import RECORD_BYTES, RowTask, RowWorker, parts_of, row_tasks
from aggregator.upsert.stored_rows import StoredRows
from replicator.config.topology import Appliance
from tests.aggregator.upsert.played_brokers import Log, batch, brokers
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


class StoredWorker(RowWorker):
    """Worker of a store that has no row, with the logs of a test."""

    def __post_init__(self):
        self._loop = asyncio.new_event_loop()
        deleted = Log.of(batch(4), start=4, stable=5)
        cluster: Any = brokers(orders0=deleted, orders1=Log.of(batch(3), stable=4))
        self._clusters = {"west regional": cluster}

    def close(self):
        self._loop.close()

    def _awaited(self, work):
        return self._loop.run_until_complete(work)

    async def _opened(self, task, spans):
        return self._clusters

    async def _reading(self, tick, *, is_fresh=False):
        return reading(tick, Rules(), rows_schema(id="UInt64"))

    async def _stored(self, task, ids):
        none = np.empty(0, np.int64)
        return StoredRows(none, pa.array([], pa.binary()), none, none.astype(np.bool_), none)


def test_what_is_lost_of_a_claimed_tick_leaves_the_dead_letters_of_all_else():
    tick = tick_of((2, 5), (3, 4))
    worker = StoredWorker(Appliance.model_construct(), None, None)
    task = RowTask(
        appliance=worker.appliance,
        feed="f",
        table="orders",
        tick=tick,
        blocks=(0,),
        is_claimed=True,
        patience_seconds=0.2,
    )
    found = [note for part in worker.read(task) for note in part["note"].to_pylist()]
    notes = notes_by_lane(found)
    assert [[offset for offset, _ in each.letters] for each in notes] == [[4], [3]]
    assert [each.rows for each in notes] == [0, 0]
    with pytest.raises(RangeLost):
        list(worker.read(replace(task, is_claimed=False)))
    worker.close()
