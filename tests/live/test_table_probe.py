"""State of the tables of a shard, as ClickHouse 18.16 describes them."""

from __future__ import annotations

import pytest

from deploy.lab.credentials import PASSWORD
from replicator.config.feed_settings import ClickHouseFeed
from replicator.runtime.store_errors import StoreUnreachable
from tests.live.feed_ground import COLUMNS
from tests.replicator.config.any_feed import ANY_FEED
from tui.facts.watch.feed_questions import LOOK_BACK_SECONDS, read_states, table_states
from tui.facts.watch.shard_servers import ShardServers

pytestmark = pytest.mark.stores


def shard_of(database: str, replicas: list[str], password_file) -> ShardServers:
    password_file.write_text(f"{PASSWORD}\n")
    shard = {"database": database, "replicas": replicas, "password_file": str(password_file)}
    feed = ClickHouseFeed.model_validate({**ANY_FEED, "name": "flights", "shards": [shard]})
    return ShardServers(feed, 0, 5.0)


def test_parts_are_those_of_the_fullest_partition_and_blocks_those_of_all(replicated_database):
    replicated_database.create_table(
        "hits", COLUMNS, order_by="_offset", partition_by="id",
        settings={"replicated_deduplication_window": 777},
    )  # fmt: skip
    with replicated_database.client() as client:
        client.execute("SYSTEM STOP MERGES")
        try:
            for partition, blocks in ((1, 3), (2, 2)):
                for number in range(blocks):
                    row = {"id": partition, "_offset": number}
                    client.execute("INSERT INTO hits (id, _offset) VALUES", [row])
            found = read_states(client, replicated_database.name)["hits"]
        finally:
            client.execute("SYSTEM START MERGES")
    assert (found.parts, found.window_blocks, found.has_coordinates) == (3, 777, True)
    # The first block of a partition has the number 0.
    assert found.blocks_per_second * LOOK_BACK_SECONDS == pytest.approx(3)


def test_merged_parts_still_count_as_blocks(replicated_database):
    replicated_database.create_table("hits", COLUMNS, order_by="_offset")
    with replicated_database.client() as client:
        for number in range(4):
            client.execute("INSERT INTO hits (id, _offset) VALUES", [{"id": 1, "_offset": number}])
        client.execute("OPTIMIZE TABLE hits FINAL")
        found = read_states(client, replicated_database.name)["hits"]
    assert found.parts == 1
    assert found.blocks_per_second * LOOK_BACK_SECONDS == pytest.approx(3)


def test_a_table_without_rows_has_no_parts_and_one_that_is_not_replicated_no_window(
    shared_clickhouse, clickhouse_database, tmp_path
):
    with shared_clickhouse.client(clickhouse_database) as client:
        client.execute("CREATE TABLE plain (id UInt64) ENGINE = MergeTree ORDER BY id")
        client.execute("CREATE VIEW seen AS SELECT id FROM plain")
    shard = shard_of(clickhouse_database, [str(shared_clickhouse.address())], tmp_path / "password")
    ((name, found),) = table_states(shard.servers()[0]).items()
    assert name == "plain"
    assert (found.parts, found.window_blocks, found.blocks_per_second) == (0, 0, 0.0)
    assert (found.has_coordinates, found.window_seconds) == (False, 0.0)


def test_a_replica_that_is_away_or_lacks_the_database_says_so(replicated_database, tmp_path):
    there = replicated_database.replicas.addresses()[0]
    nowhere = shard_of(
        replicated_database.name, ["clickhouse://127.0.0.1:1"], tmp_path / "password"
    )
    with pytest.raises(StoreUnreachable, match="ClickHouse at clickhouse://default@127.0.0.1:1"):
        table_states(nowhere.servers()[0])
    missing = shard_of("missing", [there], tmp_path / "password")
    with pytest.raises(StoreUnreachable, match=r"correct feeds.flights.shards\[0\].replicas"):
        table_states(missing.servers()[0])
