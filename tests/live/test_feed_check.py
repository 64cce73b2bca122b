"""`sluice aggregate check` on real servers: nothing is changed, and what is wrong is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aggregator.store.shard_store import ShardStore, StoreTimeouts
from aggregator.upsert.table_creation import create_tables
from deploy.lab.clickhouse import READER
from deploy.lab.clickhouse_replicas import replicated_engine
from replicator.config.upsert_table import UpsertTable
from tests.live.feed_ground import COLUMNS, FeedGround
from tui.facts.feed_findings import FeedCheck, ShardFacts
from tui.facts.watch.feed_check import birth, check_feeds

TIMEOUT_SECONDS = 10.0


@pytest.fixture
def ground(tmp_path, aggregate, redis, replicated_database, opened):
    """A feed of two partitions without a table."""
    return opened.enter_context(
        FeedGround(tmp_path, aggregate, redis, replicated_database, partitions=2)
    )


def checked(ground: FeedGround, **shard: object) -> FeedCheck:
    feed = ground.appliance.feed(ground.feed)
    # The shared cluster has topics of other tests.
    own = feed.shards[0].model_copy(update={"topics": (ground.topic,), **shard})
    return check_feeds(
        ground.appliance, [feed.model_copy(update={"shards": (own,)})], TIMEOUT_SECONDS
    )


def test_a_sound_table_has_no_mistake_and_gets_no_row_and_no_part(ground, replicated_database):
    columns = (
        f"{COLUMNS}, _incarnation UInt64, at DateTime DEFAULT now(), "
        "long UInt64 MATERIALIZED length(name)"
    )
    replicated_database.create_table(
        ground.topic, columns, order_by="_offset",
        settings={"replicated_deduplication_window": 100_000},
    )  # fmt: skip
    found = checked(ground)
    assert (found.findings, found.problems) == ((), ())
    query = f"SELECT count() FROM system.parts WHERE table = '{ground.topic}'"
    assert replicated_database.on_each(query) == [0, 0, 0]


def test_a_missing_table_is_named_on_each_replica(ground):
    found = checked(ground)
    assert [each.where for each in found.mistakes] == [f"{ground.database.name}.{ground.topic}"] * 3
    assert all("its records are set aside" in each.text for each in found.mistakes)


def test_short_windows_defaults_and_other_columns_are_named(ground, replicated_database):
    columns = COLUMNS.replace("_row UInt32", "_row UInt32, id2 UUID DEFAULT generateUUIDv4()")
    replicated_database.create_table(ground.topic, columns, order_by="_offset")
    with replicated_database.client(2) as client:
        client.execute(f"DROP TABLE {ground.topic}")
        engine = replicated_engine(f"{ground.database.name}_other", ground.topic)
        client.execute(
            f"CREATE TABLE {ground.topic} ({COLUMNS}) ENGINE = {engine} ORDER BY _offset"
        )
    texts = [each.text for each in checked(ground).findings]
    assert sum("(generateUUIDv4)" in text for text in texts) == 1
    assert sum("has other columns" in text for text in texts) == 1
    assert sum("is another table on" in text for text in texts) == 1
    assert sum("older blocks are recognized by their coordinates" in text for text in texts) == 1


def test_a_quorum_that_the_replicas_do_not_have_is_named(ground, replicated_database):
    replicated_database.create_table(ground.topic, COLUMNS, order_by="_offset")
    with replicated_database.client(2) as client:
        client.execute(f"DROP TABLE {ground.topic}")
    addresses = ground.appliance.feed(ground.feed).shards[0].replicas[:2]
    found = checked(ground, replicas=addresses, quorum=3)
    assert [each.text.partition(" as ")[0] for each in found.mistakes] == [
        "has 2 active replicas"
    ] * 2


def test_a_user_who_may_only_read_is_named(ground, replicated_database):
    replicated_database.create_table(ground.topic, COLUMNS, order_by="_offset")
    addresses = ground.appliance.feed(ground.feed).shards[0].replicas
    found = checked(ground, replicas=tuple(replace(each, user=READER) for each in addresses))
    assert [each.text.partition(" is refused")[0] for each in found.mistakes] == [
        f"an insert into {ground.database.name}.{ground.topic}"
    ] * 3


def test_servers_that_are_away_are_problems(ground, replicated_database):
    replicated_database.create_table(ground.topic, COLUMNS, order_by="_offset")
    shard = ground.appliance.feed(ground.feed).shards[0]
    away = (shard.replicas[0], replace(shard.replicas[1], port=1))
    found = checked(ground, replicas=away)
    (problem,) = found.problems
    assert problem.startswith("ClickHouse at clickhouse://")
    assert found.mistakes == ()


def test_two_feeds_that_load_one_table_through_different_replicas_are_named(
    ground, replicated_database
):
    replicated_database.create_table(
        ground.topic, COLUMNS, order_by="_offset",
        settings={"replicated_deduplication_window": 100_000},
    )  # fmt: skip
    feed = ground.appliance.feed(ground.feed)
    (shard,) = feed.shards
    shards = (
        shard.model_copy(update={"replicas": replicas, "quorum": 1})
        for replicas in (shard.replicas[:1], shard.replicas[1:])
    )
    feeds = [
        feed.model_copy(update={"name": name, "shards": (own,)})
        for name, own in zip(("one", "other"), shards, strict=True)
    ]
    found = check_feeds(ground.appliance, feeds, TIMEOUT_SECONDS)
    (mistake,) = found.mistakes
    assert mistake.where == f"{replicated_database.name}.{ground.topic}"
    assert "feeds one and other load the same records" in mistake.text
    assert "(ZooKeeper path " in mistake.text


def test_a_server_says_when_a_table_was_made_in_zookeeper(ground, replicated_database):
    replicated_database.create_table(ground.topic, COLUMNS, order_by="_offset")
    feed = ground.appliance.feed(ground.feed)
    path = replicated_database.ask(
        0, f"SELECT zookeeper_path FROM system.replicas WHERE table = '{ground.topic}'"
    )
    facts = ShardFacts(feed, 0, {}, ())
    assert (birth(facts, path, TIMEOUT_SECONDS) or 0) > 0
    assert birth(facts, f"{path}/nothing", TIMEOUT_SECONDS) is None


def test_an_upsert_table_that_its_servers_lack_or_keep_otherwise_is_named(ground):
    feed = ground.appliance.feed(ground.feed)
    (shard,) = feed.shards
    status = UpsertTable(
        name="status",
        semantic="upsert",
        topics=(ground.topic,),
        columns={"id": "UInt64", "name": "String"},
        primary_key=("id",),
    )
    keeping = feed.model_copy(update={"tables": {"status": status}})

    def texts(table: UpsertTable = status, **changes: object) -> list[str]:
        shards = (shard.model_copy(update={"topics": (ground.topic,), **changes}),)
        changed = keeping.model_copy(update={"tables": {"status": table}, "shards": shards})
        found = check_feeds(ground.appliance, [changed], TIMEOUT_SECONDS)
        return [*(each.text for each in found.findings), *found.problems]

    ground.lead()
    lacking = texts()
    assert sum("status__ticks, status of " in text for text in lacking) == 3
    assert sum("was appended to a table before: 2 intents" in text for text in lacking) == 1
    store = ShardStore(shard, StoreTimeouts(insert=TIMEOUT_SECONDS), feed=feed.name, kept=1)
    assert create_tables(store, status).is_whole
    store.close()
    assert not [text for text in texts() if "was appended" not in text]
    wider = status.model_copy(update={"columns": {**status.columns, "at": "DateTime"}})
    assert sum("lacks the column at" in text for text in texts(wider)) == 3
    away = (shard.replicas[0], replace(shard.replicas[1], port=1))
    (problem,) = [text for text in texts(replicas=away) if "was appended" not in text]
    assert problem.startswith("ClickHouse at clickhouse://")
