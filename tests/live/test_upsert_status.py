"""Status and events of an upsert table, asked of real servers."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from aggregator.store.shard_store import ShardStore, StoreTimeouts
from aggregator.upsert.claims import TickRow, TickTable, What
from aggregator.upsert.repeatable_insert import RepeatableInserts
from aggregator.upsert.row_ends import ends_table
from aggregator.upsert.server_levels import look_at_servers
from aggregator.upsert.table_creation import create_tables
from aggregator.upsert.tick import Lane, LaneRange, Tick
from aggregator.upsert.tick_store import TickStore
from aggregator.upsert.version import EndKind, RowEnd
from replicator.config.upsert_table import UpsertTable
from replicator.kafka.admin.admin import Admin
from replicator.kafka.client.cluster import Cluster
from replicator.orders.balance_log import BalanceLog
from replicator.orders.order_records import Freeze
from tests.live.feed_ground import CLUSTER, FeedGround, documents
from tests.live.loop_thread import LoopThread
from tui.facts.upsert_status import UpsertTableView
from tui.facts.watch.feed_questions import feeds_now
from tui.facts.watch.upsert_questions import EndsDropped, LookRefused, ends_after, upsert_now

TIMEOUT_SECONDS = 10.0
LATE = RowEnd(2 << 32, 0, 1, EndKind.LATE, 2, 1 << 32, bytes(16))
OLD = RowEnd(1 << 32, 0, 0, EndKind.SUPERSEDED, 2, (2 << 32) + 1, b"\xff" * 16)


@pytest.fixture
def ground(tmp_path, aggregate, redis, replicated_database, opened):
    return opened.enter_context(
        FeedGround(tmp_path, aggregate, redis, replicated_database, partitions=2)
    )


def commit(ground: FeedGround, name: str, numbers: tuple[int, ...]) -> None:
    """Commits ticks of a table in which partition 0 has a record each."""
    loop = LoopThread()
    (topic,) = Admin(CLUSTER, ground.appliance.cluster(CLUSTER)).topics([ground.topic])

    async def committed() -> None:
        cluster = Cluster(CLUSTER, ground.appliance.cluster(CLUSTER))
        await cluster.open()
        try:
            ticks = TickStore(cluster, ground.feed, name)
            holder = await ticks.open()
            for number in numbers:
                lanes = (Lane(str(CLUSTER), ground.topic, topic.topic_id, 0),)
                await ticks.commit(
                    holder, Tick(1, number, number, lanes, (LaneRange(number - 1, number),))
                )
        finally:
            await cluster.close()

    loop.wait(committed())
    loop.close()


def test_a_table_is_asked_for_where_it_is_kept_and_events_come_from_a_server_that_has_all(ground):
    feed = ground.appliance.feed(ground.feed)
    (shard,) = feed.shards
    status = UpsertTable(
        name="status",
        semantic="upsert",
        topics=(ground.topic,),
        columns={"id": "UInt64"},
        primary_key=("id",),
    )
    shards = (shard.model_copy(update={"topics": (ground.topic,)}),)
    keeping = feed.model_copy(update={"tables": {"status": status}, "shards": shards})

    def look(timeout_seconds: float = TIMEOUT_SECONDS) -> UpsertTableView:
        (table,) = upsert_now(ground.appliance, [keeping], (), timeout_seconds).tables
        return table

    ground.lead()  # makes the topic of the ledger
    ground.send(documents(5))
    before = look()
    assert before.tick == 0 and before.claimed is None and before.are_orders_known
    assert len(before.problems) == 3
    assert all("run `sluice upsert create`" in text for text in before.problems)

    store = ShardStore(shard, StoreTimeouts(insert=TIMEOUT_SECONDS), feed=feed.name, kept=1)
    assert create_tables(store, status).is_whole
    names = tuple(each.server for each in look_at_servers(store, "status")[0].values())
    ticks = TickTable(
        store, RepeatableInserts(store, time.sleep), feed=feed.name, table="status", generation=1
    )
    now_ms = time.time_ns() // 1_000_000
    ticks.publish(TickRow(1, 1, What.CLAIM, now_ms - 5_000, (1,), rows=1))
    ticks.publish(TickRow(1, 1, What.SETTLED, now_ms - 5_000, servers=names))
    ticks.insert_ends(2, ends_table([LATE, OLD]), is_repeat=False)
    ticks.publish(TickRow(1, 2, What.CLAIM, now_ms - 1_000, (2,), rows=2, events=2))
    commit(ground, "status", (1, 2, 3))

    found = look()
    assert found.problems == ()
    assert (found.generation, found.tick, found.claimed, found.settled) == (1, 3, 2, 1)
    assert (found.rows, found.events, found.unsettled_events, found.oldest) == (2, 2, 2, 0)
    assert 0.9 < (found.claimed_age_seconds or 0) < 60
    assert [
        (each.partition, each.lane, each.next_offset, each.end) for each in found.partitions
    ] == [
        (0, 0, 3, 5),
        (1, None, None, 0),
    ]
    assert found.lag == 2
    (feed,) = feeds_now(ground.appliance, [keeping], TIMEOUT_SECONDS).feeds
    assert [(each.table, each.tick) for each in feed.upsert_tables] == [("status", 2)]
    freeze = Freeze(route=ground.feed, at_ms=now_ms, who="ann@ops", why="merge", table="status")
    BalanceLog(CLUSTER, ground.appliance.cluster(CLUSTER)).write([freeze])
    assert [each.frozen for each in look().partitions] == ["by ann@ops: merge"] * 2
    assert {each.is_whole for each in found.servers} == {True}
    assert {each.settled for each in found.servers} == {1}

    def events(**changes: object) -> list[RowEnd]:
        given = {"since": 1, "until": None, "lanes": (), **changes}
        return list(ends_after(keeping, status, timeout_seconds=TIMEOUT_SECONDS, **given))

    assert events() == events(since=0, until=2, lanes=(0,)) == [OLD, LATE]
    assert events(lanes=(1,)) == events(since=2) == []
    with pytest.raises(LookRefused, match="lacks ticks: it knows 2"):
        events(until=3)
    ticks.publish(TickRow(1, 1, What.HORIZON, now_ms - 5_000))
    with pytest.raises(EndsDropped, match="those after tick 1 are kept"):
        events(since=0)
    store.close()

    away = (shard.replicas[0], replace(shard.replicas[1], port=1))
    shards = (shard.model_copy(update={"topics": (ground.topic,), "replicas": away}),)
    keeping = keeping.model_copy(update={"shards": shards})
    partly = look()
    (problem,) = partly.problems
    assert problem.startswith("ClickHouse at clickhouse://")
    assert (partly.claimed, partly.oldest) == (2, 1)
    assert [each.claimed for each in partly.servers] == [2, None]
