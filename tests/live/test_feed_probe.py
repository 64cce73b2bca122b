"""Status of feeds, and the blocks that loaders have to repeat, read from real servers."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from aggregator.intents.intent import TableRange
from aggregator.intents.intent_store import IntentStore
from aggregator.loader.reports import FeedPartition
from balancer.plan import TopicPartition
from deploy.lab.wait import until
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.loss import Loss, LossKind
from replicator.orders.balance_log import BalanceLog
from replicator.orders.order_records import Freeze
from tests.live.feed_ground import CLUSTER, COLUMNS, FeedGround, documents
from tui.state.feed_probe import FeedProbe
from tui.state.feed_scope import Scope
from tui.state.pending_blocks import pending_blocks

TIMEOUT_SECONDS = 10.0


@pytest.fixture
def ground(tmp_path, aggregate, redis, replicated_database, opened):
    """A feed of two partitions whose driver leads, with its table."""
    found = opened.enter_context(
        FeedGround(tmp_path, aggregate, redis, replicated_database, partitions=2)
    )
    replicated_database.create_table(found.topic, COLUMNS, order_by="(_offset, _row)")
    found.lead()
    return found


def status_of(ground: FeedGround):
    feed = ground.appliance.feed(ground.feed)
    (found,) = FeedProbe(ground.appliance, [feed], TIMEOUT_SECONDS).read().feeds
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
    found = FeedProbe(appliance, [feed], 3.0).read()
    assert len(found.problems) == 2
    assert found.problems[0].startswith("Redis at redis://127.0.0.1:1")
    assert found.problems[1].startswith("ClickHouse at clickhouse://")
    (view,) = found.feeds
    assert view.shards[0].tables is None
    assert {each.committed for each in view.partitions if each.topic == ground.topic} == {0}


def test_a_cluster_that_is_away_is_unknown(ground):
    region = ground.appliance.region("east")
    cluster = region.aggregate.model_copy(update={"bootstrap": ("127.0.0.1:1",)})
    region = region.model_copy(update={"aggregate": cluster})
    appliance = ground.appliance.model_copy(update={"regions": {"east": region}})
    found = FeedProbe(appliance, [appliance.feed(ground.feed)], 2.0).read()
    (view,) = found.feeds
    assert (view.unknown_clusters, view.partitions, view.orders) == ((CLUSTER,), (), None)
    assert any(CLUSTER in problem for problem in found.problems)
