"""A database on all replicas of a ClickHouse shard, and a gate before their ZooKeeper."""

from __future__ import annotations

import select
import socket
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

from clickhouse_driver import Client
from clickhouse_driver.errors import ServerException

from deploy.lab.clickhouse_replicas import ClickHouseReplicas, replicated_engine
from deploy.lab.wait import until


@dataclass(frozen=True, slots=True)
class ReplicatedDatabase:
    """Database of this name on each of the replicas."""

    replicas: ClickHouseReplicas
    name: str

    def create_table(
        self,
        table: str,
        columns: str,
        *,
        order_by: str = "tuple()",
        partition_by: str = "tuple()",
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """Creates a ReplicatedMergeTree table on all replicas; settings are those of the table."""
        named = {"index_granularity": 8192, **(settings or {})}
        self.execute(
            f"CREATE TABLE {table} ({columns}) ENGINE = {replicated_engine(self.name, table)} "
            f"PARTITION BY {partition_by} ORDER BY {order_by} "
            f"SETTINGS {', '.join(f'{key} = {value}' for key, value in named.items())}"
        )

    def execute(self, query: str) -> None:
        """Executes a query in the database of each replica, one after another."""
        self.replicas.execute(query, self.name)

    def client(self, replica: int = 0, **options: Any) -> Client:
        """Returns a client of one replica, for use in a `with` block."""
        return self.replicas[replica].client(self.name, **options)

    def insert(
        self,
        replica: int,
        table: str,
        rows: Sequence[tuple[object, ...]],
        query_id: str | None = None,
        **settings: object,
    ) -> int:
        """Inserts rows as one block; returns 0 for an acknowledged one, else the error's code."""
        with self.client(replica, settings=settings, send_receive_timeout=60) as client:
            try:
                client.execute(f"INSERT INTO {table} VALUES", rows, query_id=query_id)
            except ServerException as error:
                return int(error.code)
        return 0

    @contextmanager
    def no_fetches(
        self, table: str, *replicas: int, wake: Sequence[tuple[object, ...]]
    ) -> Iterator[None]:
        """Keeps replicas from fetching blocks of a table, and so its quorum open.

        Args:
            wake: rows that are inserted afterwards without quorum. A replica that did not get a
                block tries again after 10 s, or at once if the table has a new one.
        """
        for replica in replicas:
            self.order(replica, f"SYSTEM STOP FETCHES {table}")
        try:
            yield
        finally:
            self.allow_fetches(table, *replicas, wake=wake)

    def allow_fetches(self, table: str, *replicas: int, wake: Sequence[tuple[object, ...]]) -> None:
        """Ends what no_fetches() began, also earlier."""
        for replica in replicas:
            self.order(replica, f"SYSTEM START FETCHES {table}")
        self.insert(replicas[0], table, wake)

    def holders(self, table: str) -> list[int]:
        """Returns the replicas that have the block of an insert which waits for its quorum."""
        path = "SELECT zookeeper_path FROM system.replicas WHERE table = '{}' AND database = '{}'"
        quorum = f"{self.ask(0, path.format(table, self.name))}/quorum"
        query = f"SELECT value FROM system.zookeeper WHERE path = '{quorum}' AND name = 'status'"
        with self.client() as client:
            found = client.execute(query)
        return [
            number_of(each) for (text,) in found for each in text.split("\nreplicas:\n")[1].split()
        ]

    def replica_name(self, replica: int, table: str) -> str:
        """Returns the name that a replica has among those of a table."""
        query = "SELECT replica_name FROM system.replicas WHERE database = '{}' AND table = '{}'"
        return str(self.ask(replica, query.format(self.name, table)))

    def order(self, replica: int, query: str) -> None:
        """Executes a query that answers nothing."""
        with self.client(replica) as client:
            client.execute(query)

    def ask(self, replica: int, query: str, **settings: object) -> Any:
        """Returns the only value of a query's only row."""
        with self.client(replica, settings=settings) as client:
            return client.execute(query)[0][0]

    def on_each(self, query: str, *tables: str) -> list[Any]:
        """Returns the only value of a query from each replica, after it has caught up in the
        tables."""
        return [self._caught_up(index, query, tables) for index in range(len(self.replicas))]

    def counts(self, table: str) -> list[int]:
        """Returns the number of rows on each replica, after it has caught up."""
        return self.on_each(f"SELECT count() FROM {table}", table)

    def wait_writable(self, timeout_seconds: float = 60.0) -> None:
        """Waits until every replica has a session of ZooKeeper for each of its tables.

        A replica that lost ZooKeeper is read-only for a while after it came back, and drops no
        table then.
        """
        lost = (
            "SELECT count() FROM system.replicas WHERE database = currentDatabase() "
            "AND (is_readonly OR is_session_expired)"
        )
        replicas = range(len(self.replicas))
        assert until(lambda: not any(self.ask(each, lost) for each in replicas), timeout_seconds)

    def _caught_up(self, index: int, query: str, tables: tuple[str, ...]) -> Any:
        with self.client(index) as client:
            for table in tables:
                client.execute(f"SYSTEM SYNC REPLICA {self.name}.{table}")
            return client.execute(query)[0][0]


def number_of(name: str) -> int:
    """Returns the number of the replica that has a name."""
    return int(name.partition("-")[0])


@contextmanager
def new_database(replicas: ClickHouseReplicas) -> Iterator[ReplicatedDatabase]:
    """Yields an empty database on all replicas, and drops it afterwards."""
    database = ReplicatedDatabase(replicas, f"test_{uuid.uuid4().hex[:12]}")
    replicas.execute(f"CREATE DATABASE {database.name}")
    yield database
    database.wait_writable()
    replicas.execute(f"DROP DATABASE {database.name}")


class Gate:
    """TCP proxy before a server's port. While shut it delays everything, as a cut network does.

    After open() the connections go on with what was delayed, unless an end has closed them.
    """

    def __init__(self, server_port: int, port: int) -> None:
        self._server_port = server_port
        self._is_open = threading.Event()
        self._is_open.set()
        self._listener = socket.create_server(("127.0.0.1", port))
        self._ends: list[socket.socket] = [self._listener]
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.open()
        for end in list(self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10.0)

    def shut(self) -> None:
        self._is_open.clear()

    def open(self) -> None:
        self._is_open.set()

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with self._listener, suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._ends.append(client)
                self._start(self._forward, client)

    def _forward(self, client: socket.socket) -> None:
        self._is_open.wait()
        with (
            client,
            suppress(OSError),
            socket.create_connection(("127.0.0.1", self._server_port)) as server,
        ):
            other = {client: server, server: client}
            while True:
                for source in select.select([*other], [], [])[0]:
                    part = source.recv(65536)
                    if not part:
                        return
                    self._is_open.wait()
                    other[source].sendall(part)
