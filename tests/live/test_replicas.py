"""The lab's replicas of ClickHouse and their ZooKeeper behave as the tests need."""

from __future__ import annotations

import pytest
from clickhouse_driver.errors import ServerException

from deploy.lab.clickhouse_replicas import ClickHouseReplicas
from deploy.lab.process import free_port
from deploy.lab.wait import until
from tests.live.replicas import Gate, ReplicatedDatabase

pytestmark = pytest.mark.stores


def with_numbers(replicas: ClickHouseReplicas) -> ReplicatedDatabase:
    database = ReplicatedDatabase(replicas, "default")
    database.create_table("numbers", "value UInt64")
    return database


def insert(database: ReplicatedDatabase, replica: int, value: int) -> None:
    with database.client(replica) as client:
        client.execute("INSERT INTO numbers VALUES", [(value,)])


def is_readonly(database: ReplicatedDatabase, replica: int) -> bool:
    return bool(
        database.ask(replica, "SELECT is_readonly FROM system.replicas WHERE table = 'numbers'")
    )


def test_a_row_inserted_on_one_replica_is_on_all(replicated_database):
    replicated_database.create_table("numbers", "value UInt64")
    insert(replicated_database, 1, 7)
    assert replicated_database.counts("numbers") == [1, 1, 1]


def test_replicas_and_zookeeper_keep_their_rows_over_a_power_cut(own_replicas):
    database = with_numbers(own_replicas)
    insert(database, 0, 7)
    assert database.counts("numbers") == [1, 1, 1]
    own_replicas.kill()
    own_replicas.start()
    own_replicas.wait_ready()
    assert until(lambda: not is_readonly(database, 2), 30)
    insert(database, 2, 8)
    assert database.counts("numbers") == [2, 2, 2]


def test_a_replica_that_was_killed_catches_up(own_replicas):
    database = with_numbers(own_replicas)
    own_replicas[2].kill()
    insert(database, 0, 7)
    own_replicas[2].start()
    own_replicas[2].wait_ready()
    assert until(lambda: not is_readonly(database, 2), 30)
    assert database.counts("numbers") == [1, 1, 1]


def test_a_replica_that_is_cut_off_zookeeper_is_readonly_until_the_gate_opens(tmp_path):
    port = free_port()
    with (
        ClickHouseReplicas(
            tmp_path, count=2, session_seconds=2.0, zookeeper_ports={1: port}
        ) as replicas,
        Gate(replicas.zookeeper.port, port) as gate,
    ):
        database = with_numbers(replicas)
        gate.shut()
        assert until(lambda: is_readonly(database, 1), 30)
        with pytest.raises(ServerException):
            insert(database, 1, 7)
        insert(database, 0, 8)
        gate.open()
        assert until(lambda: not is_readonly(database, 1), 30)
        assert database.counts("numbers") == [1, 1]
