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

from bench.ground import DIRECTORY, Servers
from deploy.lab.clickhouse import ClickHouseServer
from deploy.lab.clickhouse_replicas import ClickHouseReplicas, replicated_engine

FEED_DIRECTORY = DIRECTORY.with_name("bench-feeds")
REPLICAS = 2


class FeedGround(Servers):
    """Kafka and Redis, and a new shard for each system."""

    def __init__(self, directory: Path = FEED_DIRECTORY) -> None:
        super().__init__(directory, "source")
        (self.kafka,) = self.clusters

    @contextmanager
    def shard(self, *, quorum: int, profile: Mapping[str, object]) -> Iterator[FeedShard]:
        """Yields new servers, and ends them afterwards.

        Args:
            quorum: 0: one server without ZooKeeper; else REPLICAS replicas.
            profile: settings of all users and of the servers' background threads.
        """
        number = self.next_number()
        directory = self.directory / f"shard-{number}"
        servers: ClickHouseServer | ClickHouseReplicas
        if quorum:
            servers = ClickHouseReplicas(directory, count=REPLICAS, profile=profile)
        else:
            servers = ClickHouseServer(directory, profile=profile)
        with servers:
            replicas = list(servers) if isinstance(servers, ClickHouseReplicas) else [servers]
            yield FeedShard(self, directory, replicas, quorum, number)
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
