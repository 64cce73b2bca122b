"""Status and metrics of feeds, and blocks that loaders have to repeat, read from real servers."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from aggregator.intents.intent_store import IntentStore
from aggregator.intents.table_range import TableRange
from aggregator.loader.reports import FeedPartition
from balancer.topic_partition import TopicPartition
from deploy.lab.traffic import TrafficRecord
from deploy.lab.wait import until
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.loss import Loss, LossKind
from replicator.orders.balance_log import BalanceLog
from replicator.orders.order_records import Freeze
from tests.live.feed_ground import CLUSTER, COLUMNS, FeedGround, documents
from tests.live.feed_metrics import scraped
from tests.live.feed_steps import Step, begin_with_end
from tui.facts.feed_scope import Scope
from tui.facts.watch.feed_intents import pending_blocks
from tui.facts.watch.feed_questions import feeds_now

TIMEOUT_SECONDS = 10.0


@pytest.fixture
def ground(tmp_path, aggregate, redis, replicated_database, opened):
    """A feed of two partitions whose driver leads, with its table."""
    found = opened.enter_context(
        FeedGround(
            tmp_path,
            aggregate,
            redis,
            replicated_database,
            settings="insert_timeout_seconds = 4",
            partitions=2,
        )
    )
    replicated_database.create_table(found.topic, COLUMNS, order_by="(_offset, _row)")
    found.lead()
    return found


def status_of(ground: FeedGround):
    feed = ground.appliance.feed(ground.feed)
    (found,) = feeds_now(ground.appliance, [feed], TIMEOUT_SECONDS).feeds
    return found


def mine(ground: FeedGround):
    """Returns the partitions of the test's own topic; the shared cluster has others."""
    return [each for each in status_of(ground).partitions if each.topic == ground.topic]


def commit(ground: FeedGround, partition: int, **changes: object) -> None:
    """Commits the partition's intent with changes, as its holder would."""
    place = TopicPartition(ground.topic, partition)

    async def replaced() -> None:
        cluster = Cluster(CLUSTER, ground.appliance.cluster(CLUSTER))
        await cluster.open([ground.topic])
        try:
            store = IntentStore(cluster, ground.feed)
            intent = (await store.read([place]))[place]
            holder = await FencedCommitter(cluster, intent.transactional_id, 30_000).open()
            found = await store.read_as_holder(holder, [place])
            await store.replace(holder, found, {place: replace(found[place], **changes)})
        finally:
            await cluster.close()

    asyncio.run(replaced())


def test_a_feed_that_is_loaded_has_no_lag_and_its_table_has_parts(ground):
    ground.load()
    ground.send(documents(20, partitions=2))
    ground.wait_count(20)

    def is_settled() -> bool:
        return all(each.lag_records == 0 and each.mode == "consume" for each in mine(ground))

    assert until(is_settled, 30.0), mine(ground)
    found = status_of(ground)
    assert (found.problems, found.unknown_clusters, found.orders) == ((), (), ())
    (table,) = [each for each in found.shards[0].tables if each.table == ground.topic]
    assert table.state.parts >= 1 and table.state.has_coordinates
    for each in mine(ground):
        assert (each.custody, each.loader, each.shard, each.end) == ("held", 0, 0, 10)
        assert (each.dead_letters, each.parked, each.frozen) == (0, None, None)


def test_a_feed_that_nobody_loads_has_lag_and_no_mode(ground):
    ground.send(documents(6, partitions=2))
    for each in mine(ground):
        assert (each.committed, each.end, each.lag_records) == (0, 3, 3)
        assert (each.mode, each.buffered_bytes, each.blocks) == (None, None, ())


def test_blocks_that_may_have_been_sent_are_pending_until_they_are_skipped(ground):
    ground.send(documents(6, partitions=2))
    sealed_at_ms = time.time_ns() // 1_000_000 - 5000
    block = TableRange(0, 3, 3, "h", sealed_at_ms)
    commit(ground, 1, tables={ground.topic: block, "other": TableRange(2, 2)})
    one, other = mine(ground)
    assert (one.blocks, one.window_used) == ((), None)
    assert [(each.table, each.begin, each.end) for each in other.blocks] == [(ground.topic, 0, 3)]
    assert 5.0 <= other.intent_age_seconds < 60.0
    assert 0.0 <= other.window_used < 0.01
    feed = ground.appliance.feed(ground.feed)
    where = FeedPartition(CLUSTER, ground.topic, 1)
    for scope, count in (
        (Scope(topic=ground.topic), 1),
        (Scope(topic=ground.topic, table=ground.topic), 1),
        (Scope(topic=ground.topic, table="other"), 0),
        (Scope(topic=ground.topic, partition=0), 0),
        (Scope(cluster="west regional"), 0),
    ):
        found = pending_blocks(ground.appliance, feed, scope, TIMEOUT_SECONDS)
        assert [(each.partition, each.table, each.block) for each in found] == [
            (where, ground.topic, block)
        ] * count


def test_a_parked_or_frozen_partition_says_so(ground):
    loss = Loss(LossKind.RETENTION_PASSED, 0, 2, "gone")
    commit(ground, 0, parked=loss)
    now_ms = time.time_ns() // 1_000_000
    freeze = Freeze(
        route=ground.feed, at_ms=now_ms, who="ann@ops", why="merge", topic=ground.topic, partition=1
    )
    BalanceLog(CLUSTER, ground.appliance.cluster(CLUSTER)).write([freeze])
    parked, frozen = mine(ground)
    assert (parked.custody, parked.parked) == ("parked", str(loss))
    assert frozen.frozen == "by ann@ops: merge"
    assert status_of(ground).orders == (freeze,)


def test_servers_that_are_away_are_problems_and_the_rest_is_shown(ground):
    shard = ground.appliance.feed(ground.feed).shards[0]
    away = shard.model_copy(
        update={"replicas": tuple(replace(each, port=1) for each in shard.replicas[:1])}
    )
    feed = ground.appliance.feed(ground.feed).model_copy(update={"shards": (away,)})
    region = ground.appliance.region("east").model_copy(update={"redis": "redis://127.0.0.1:1"})
    appliance = ground.appliance.model_copy(update={"regions": {"east": region}})
    found = feeds_now(appliance, [feed], 3.0)
    assert len(found.problems) == 2
    assert found.problems[0].startswith("Redis at redis://127.0.0.1:1")
    assert found.problems[1].startswith("ClickHouse at clickhouse://")
    (view,) = found.feeds
    assert view.shards[0].tables is None
    assert {each.committed for each in view.partitions if each.topic == ground.topic} == {0}


def test_the_next_replica_is_asked_when_one_is_away(ground):
    shard = ground.appliance.feed(ground.feed).shards[0]
    (there, *_) = shard.replicas
    shard = shard.model_copy(update={"replicas": (replace(there, port=1), there)})
    feed = ground.appliance.feed(ground.feed).model_copy(update={"shards": (shard,)})
    found = feeds_now(ground.appliance, [feed], TIMEOUT_SECONDS)
    assert not found.problems
    assert ground.topic in {each.table for each in found.feeds[0].shards[0].tables or ()}


def test_a_cluster_that_is_away_is_unknown(ground):
    region = ground.appliance.region("east")
    cluster = region.aggregate.model_copy(update={"bootstrap": ("127.0.0.1:1",)})
    region = region.model_copy(update={"aggregate": cluster})
    appliance = ground.appliance.model_copy(update={"regions": {"east": region}})
    found = feeds_now(appliance, [appliance.feed(ground.feed)], 2.0)
    (view,) = found.feeds
    assert (view.unknown_clusters, view.partitions, view.orders) == ((CLUSTER,), (), None)
    assert any(CLUSTER in problem for problem in found.problems)


def test_metrics_count_what_loaders_did_through_refused_inserts_and_a_takeover(ground):
    ground.send([*documents(300, partitions=2), TrafficRecord(0, b"bad", b"{")])
    with scraped(ground) as shown:
        first = ground.load()
        ground.wait_count(300)
        shown.wait(300, "rows_total", table=ground.topic)
        shown.wait(151, "records_read_total", topic=ground.topic, partition=0)
        shown.wait(150, "records_read_total", topic=ground.topic, partition=1)
        shown.wait(1, "records_refused_total", table=ground.topic, reason="record")
        shown.wait(1, "dead_letters", partition=0)
        shown.wait(2, "partitions", loader=0)
        shown.wait(2, "takeovers_total")
        assert shown.sum("insert_errors_total") is None
        assert shown.sum("insert_retries_total") == shown.sum("blocks_recognized_total") == 0
        assert shown.sum("schema_failures_total") == shown.sum("losses_total") == 0

        # The quorum of one partition's block stays open, and refuses the other one's.
        for replica in (1, 2):
            ground.database.order(replica, f"SYSTEM STOP FETCHES {ground.topic}")
        ground.send(documents(2, first=300, partitions=2))
        assert until(lambda: shown.sum("insert_errors_total", code=286), 30, 0.3)
        shown.wait(1, "insert_errors_total", code=319)
        assert shown.sum("quorum_waits_total") >= 1
        assert shown.sum("blocks_in_flight") == 2
        assert shown.sum("intent_seconds", partition=0) > 1
        assert 0 < shown.sum("window_used", partition=0) < 0.01
        assert shown.sum("lag_seconds", partition=0) > 1
        for replica in (1, 2):
            ground.database.order(replica, f"SYSTEM START FETCHES {ground.topic}")
        ground.wait_count(302)
        ground.publish()
        receipts = first.result(30)
        refused = shown.sum("insert_errors_total", code=286)
        stored = [rows for rows in receipts["rows"].to_pylist() if rows]
        shown.wait(302, "rows_total")
        assert shown.sum("blocks_total") == len(stored)
        assert shown.sum("insert_retries_total") == refused
        assert shown.sum("blocks_recognized_total") == 1
        assert shown.sum("block_bytes_total") > 302 * 30
        assert 0 < shown.sum("row_lag_seconds_total") < 302 * 60
        assert 0 < shown.sum("block_loading_seconds_total") < len(stored) * 60
        assert 0 < shown.sum("commit_seconds_total") < 60
        assert shown.sum("commits_total") > 0

        dying = begin_with_end(ground, Step.ACKNOWLEDGED, loader=5)
        shown.wait(4, "takeovers_total")
        ground.send(documents(20, first=302))
        assert until(lambda: not dying.is_running(), 60)
        (block,) = ground.intents()[0].blocks.values()
        ground.load(number=1)
        ground.wait_count(322)
        shown.wait(6, "takeovers_total")
        shown.wait(block.records, "records_replayed_total")
        shown.wait(2, "blocks_recognized_total")
        shown.wait(322, "rows_total")
        shown.wait(2, "partitions", loader=1)
        shown.wait(ground.intents()[0].offset, "committed_offset", partition=0)
        assert until(lambda: shown.sum("lag_seconds") == shown.sum("blocks_in_flight") == 0, 30)
        assert shown.sum("lag_records") == shown.sum("window_used") == shown.sum("frozen") == 0
