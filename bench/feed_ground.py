"""Servers of the feed cases: one Kafka broker and Redis for a run, new ClickHouse servers for each
system.

A system thus never pays for merges of tables that another one has filled.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clickhouse_driver import Client

from bench.ground import DIRECTORY, PROPERTIES
from deploy.lab.clickhouse import ClickHouseServer
from deploy.lab.clickhouse_replicas import ClickHouseReplicas, replicated_engine
from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer

FEED_DIRECTORY = DIRECTORY.with_name("bench-feeds")
REPLICAS = 2


class FeedGround:
    """Starts Kafka and Redis as a context manager, and ends them on exit."""

    def __init__(self, directory: Path = FEED_DIRECTORY) -> None:
        self.directory = directory
        self.kafka = KafkaCluster("source", directory, properties=PROPERTIES)
        self.redis = RedisServer(directory)
        self._number = 0

    def __enter__(self) -> FeedGround:
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        try:
            for server in (self.kafka, self.redis):
                server.start()
            for server in (self.kafka, self.redis):
                server.wait_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kafka.kill_all()
        self.redis.kill()
        # Data takes gigabytes. Server logs stay, since they are needed after a failure.
        shutil.rmtree(self.kafka.directory / "node-1" / "data", ignore_errors=True)

    @contextmanager
    def shard(self, *, quorum: int, profile: Mapping[str, object]) -> Iterator[FeedShard]:
        """Yields new servers, and ends them afterwards.

        Args:
            quorum: 0: one server without ZooKeeper; else REPLICAS replicas.
            profile: settings of all users and of the servers' background threads.
        """
        self._number += 1
        directory = self.directory / f"shard-{self._number}"
        servers: ClickHouseServer | ClickHouseReplicas
        if quorum:
            servers = ClickHouseReplicas(directory, count=REPLICAS, profile=profile)
        else:
            servers = ClickHouseServer(directory, profile=profile)
        with servers:
            replicas = list(servers) if isinstance(servers, ClickHouseReplicas) else [servers]
            yield FeedShard(self, directory, replicas, quorum, self._number)
        for replica in replicas:
            shutil.rmtree(replica.directory / "data", ignore_errors=True)


class FeedShard:
    """ClickHouse servers that hold the same tables.

    Args:
        directory: of the servers, and for the files of the system under test.
        number: unique to the shard, for names of groups and feeds.
    """

    def __init__(
        self,
        ground: FeedGround,
        directory: Path,
        servers: Sequence[ClickHouseServer],
        quorum: int,
        number: int,
    ) -> None:
        self.ground, self.directory, self.servers = ground, directory, servers
        self.quorum, self.number = quorum, number

    def client(self, server: int = 0, **options: Any) -> Client:
        return self.servers[server].client(**options)

    def execute(self, query: str) -> None:
        """Executes a query on the first server."""
        with self.client() as client:
            client.execute(query)

    def create_table(self, table: str, columns: str) -> None:
        """Creates a table on all servers."""
        engine = replicated_engine("default", table) if self.quorum else "MergeTree()"
        for server in range(len(self.servers)):
            with self.client(server) as client:
                client.execute(
                    f"CREATE TABLE {table} ({columns}) ENGINE = {engine} "
                    "PARTITION BY tuple() ORDER BY id"
                )

    def rows(self, tables: Sequence[str]) -> int:
        """Returns the number of rows of these tables on the first server.

        Read from the list of parts: count() would read a column of the whole table.
        """
        names = ", ".join(f"'{table}'" for table in tables)
        with self.client() as client:
            found = client.execute(
                "SELECT sum(rows) FROM system.parts "
                f"WHERE active AND database = 'default' AND table IN ({names})"
            )
        return int(found[0][0])
