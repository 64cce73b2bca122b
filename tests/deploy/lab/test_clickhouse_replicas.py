"""Replicas of ClickHouse that were not started yet."""

from __future__ import annotations

from pathlib import Path

from deploy.lab.clickhouse_replicas import ClickHouseReplicas, replicated_engine
from replicator.config.clickhouse_address import ClickHouseAddress


def test_each_replica_has_an_address_that_the_configuration_accepts(tmp_path: Path):
    parsed = [ClickHouseAddress.parse(text) for text in ClickHouseReplicas(tmp_path).addresses()]
    assert len({address.port for address in parsed}) == 3
    assert {(address.host, address.database) for address in parsed} == {("127.0.0.1", "default")}


def test_a_set_that_was_never_started_can_be_killed(tmp_path: Path):
    replicas = ClickHouseReplicas(tmp_path, count=2)
    replicas.kill()
    assert [replica.is_started for replica in replicas] == [False, False]


def test_replicas_share_the_path_of_a_table_and_differ_in_their_names():
    assert replicated_engine("air", "flights") == (
        "ReplicatedMergeTree('/tables/{shard}/air/flights', '{replica}')"
    )
