"""Row tasks die at any step, meet their own repeats and read logs with gaps: the rows of a tick are
on each replica once, and its facts are the same each time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from aggregator.upsert.range_reader import RangeLost
from aggregator.upsert.row_task import RowsNotStored
from deploy.lab.traffic import Shape, TrafficRecord
from deploy.lab.wait import until
from replicator.kafka.client.loss import LossKind
from tests.live.row_ground import RowGround, of_block, orders
from tests.live.row_process import STEPS, begin_as_told

NEWEST = 'newest_column = "at"'


@pytest.fixture
def make_ground(replicated_database, regional, east, tmp_path, opened):
    """`make_ground(settings)`: the table `orders`, read from two clusters."""

    def make(settings="", **options) -> RowGround:
        ground = RowGround(tmp_path, (regional, east), replicated_database, settings, **options)
        opened.callback(ground.close)
        return ground

    return make


def test_a_task_that_is_killed_at_any_step_is_done_again_and_its_rows_are_exact(
    make_ground, tmp_path
):
    ground = make_ground(NEWEST)
    tasks = {}
    for step in STEPS:
        ground.send(True, orders(300, days=3))
        ground.send(False, orders(200, first=300, days=3))
        tasks[step] = ground.task(ground.tick(block_rows=200), is_new=True)
    process = begin_as_told(tmp_path / "dying.told", tasks)
    assert until(lambda: not process.is_running(), 60)
    stored = {step: len(ground.stored(task.tick)[0]) for step, task in tasks.items()}
    assert stored["before-insert"] == 0
    assert 0 < stored["part-of-block"] < stored["after-insert"] == stored["after-facts"] == 200
    for task in tasks.values():
        again = ground.done(ground.task(task.tick))
        assert len(again.rows) == 500
        ground.assert_exact(task.tick, again)
        assert ground.done(ground.task(task.tick, is_claimed=True)) == again


def test_two_processes_that_do_the_same_task_at_once_store_no_row_twice(make_ground):
    ground = make_ground(NEWEST)
    workers = [ground.new_worker(), ground.new_worker(), ground.worker]
    for _ in range(3):
        ground.send(True, orders(200, days=4))
        tick = ground.tick(block_rows=50)
        tasks = [ground.task(tick, is_new=at == 0) for at in range(3)]
        with ThreadPoolExecutor(3) as pool:
            found = list(pool.map(ground.done, tasks, workers))
        assert found[0] == found[1] == found[2]
        ground.assert_exact(tick, found[0])


def test_blocks_of_one_tick_in_several_processes_wait_for_each_other_s_quorum(make_ground):
    ground = make_ground(NEWEST)
    ground.send(True, orders(400))
    tick = ground.tick(block_rows=100)
    task = ground.task(tick, is_new=True)
    workers = [ground.new_worker() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        parts = [of_block(task, block) for block in range(4)]
        found = list(pool.map(ground.done, parts, workers))
    ids = [row for each in found for row in each.ids]
    assert ground.stored(tick) == [ids] * 3
    assert len(ids) == 400


def test_an_insert_that_waits_for_its_quorum_is_not_repeated(make_ground, tmp_path):
    ground = make_ground(NEWEST)
    ground.send(True, orders(100))
    task = ground.task(ground.tick(), is_new=True)
    table, database = "orders__rows", ground.database
    row = [(1, "", 0, 0, 0, 0, "k" * 16, 0, 0, "", "", 0, 0, 0)]
    with database.no_fetches(table, 1, 2, wake=row):
        process = begin_as_told(tmp_path / "waiting.told", {"never": task})
        count = f"SELECT count() FROM {table}"
        assert until(lambda: database.ask(0, count) == 100, 30)
        process.kill_family()
        with pytest.raises(RowsNotStored, match="quorum"):
            ground.done(ground.task(task.tick, refused_seconds=0.5))
    again = ground.done(ground.task(task.tick))
    assert len(again.rows) == 100
    ground.assert_exact(task.tick, again)


def test_a_table_that_was_altered_meanwhile_fails_a_task_once(make_ground):
    ground = make_ground(NEWEST)
    ground.send(True, orders(20))
    ground.done(ground.task(ground.tick(), is_new=True))
    ground.database.order(0, "ALTER TABLE orders__rows DROP COLUMN text")
    ground.send(True, orders(20, first=20))
    tick = ground.tick()
    with pytest.raises(RowsNotStored, match="text"):
        ground.done(ground.task(tick, is_new=True))
    ground.assert_exact(tick, ground.done(ground.task(tick)))


def test_transactions_empty_values_and_bad_records_become_rows_deletes_and_letters(make_ground):
    ground = make_ground("empty_value_deletes = true")
    aborted = Shape(transaction_records=40, abort_every=2)
    ground.send(True, orders(160), aborted)
    ground.send(
        False,
        [
            TrafficRecord(0, b"7", None),
            TrafficRecord(0, None, None),
            TrafficRecord(1, b'{"id": 8}', b""),
            TrafficRecord(1, b"9", b"{}"),
            TrafficRecord(1, b"9", b'{"id": -9}'),
        ],
    )
    tick = ground.tick()
    facts = ground.done(ground.task(tick, is_new=True))
    notes = {note.lane: note for note in facts.notes}
    assert sum(notes[lane].rows for lane in (0, 1)) == 80
    assert (notes[2].rows, notes[3].rows) == (1, 1)
    assert [offset for offset, _ in notes[2].letters] == [1]
    assert [offset for offset, _ in notes[3].letters] == [1, 2]
    assert [row["is_delete"] for row in facts.rows if row["lane"] > 1] == [True, True]
    ground.assert_exact(tick, facts)
    query = "SELECT groupUniqArray((_deleted, _until)) FROM orders__rows"
    assert sorted(ground.database.ask(0, query)) == [(0, 4294967295), (1, tick.number)]


def test_a_row_whose_record_was_compacted_since_keeps_its_fact(make_ground, east):
    ground = make_ground(partitions=1)
    config = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in config.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, ground.topic, incremental_configs=entries)
    admin = east.admin()  # it ends when nobody holds it
    admin.incremental_alter_configs([resource])[resource].result(30)
    some = orders(50, partitions=1)
    ground.send(False, some)
    tick = ground.tick()
    before = ground.done(ground.task(tick, is_new=True))
    assert len(before.rows) == 50
    ground.send(False, some[:30])
    time.sleep(0.3)  # the segment is older than segment.ms
    ground.send(False, orders(1, first=49, partitions=1))

    assert until(lambda: ground.first_offset(1) >= 30, 60)
    assert ground.done(ground.task(tick)) == before
    assert ground.done(ground.task(tick, is_claimed=True)) == before
    ground.assert_exact(tick, before)
    following = ground.tick()
    found = ground.done(ground.task(following, is_new=True))
    assert len(found.rows) == 31
    ground.assert_exact(following, found)


def test_records_that_retention_took_are_a_loss_but_for_a_tick_that_is_claimed(make_ground, east):
    ground = make_ground(partitions=1)
    ground.send(False, orders(50, partitions=1))
    tick = ground.tick()
    before = ground.done(ground.task(tick, is_new=True))
    gone = TopicPartition(ground.topic, 0, 20)
    admin = east.admin()  # it ends when nobody holds it
    admin.delete_records([gone])[gone].result(30)
    with pytest.raises(RangeLost) as raised:
        ground.done(ground.task(tick))
    loss = raised.value.loss
    assert (loss.kind, loss.begin, loss.end) == (LossKind.RETENTION_PASSED, 0, 20)
    assert ground.done(ground.task(tick, is_claimed=True)) == before
