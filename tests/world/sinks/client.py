"""Client of a world's ClickHouse servers, in the place of clickhouse_driver's.

It blocks its thread for virtual time. Of the driver it has what the product uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any

from clickhouse_driver.errors import NetworkError, SocketTimeoutError

from replicator.clickhouse.server import ClickHouse
from tests.world.blocking import pause, wait
from tests.world.process import CURRENT
from tests.world.sinks.line import Line
from tests.world.sinks.native_rows import END, REVISION
from tests.world.sinks.questions import columnar as by_columns
from tests.world.sinks.server import AskedInsert, Sample, Server

DATA_PACKET = b"\x02\x00"
"""Head of a packet of data without a table's name."""


class WorldClickHouse(ClickHouse):
    """Client's side of a server, as the product makes it."""

    server: Server

    def client(self, **options: object) -> WorldClient:
        seconds = options.get("connect_timeout", self.timeout_seconds)
        assert isinstance(seconds, float)
        return WorldClient(self.server, seconds, self.timeout_seconds)


def clickhouse_of(servers: Mapping[str, Server]) -> Callable[..., ClickHouse]:
    """Returns a maker of clients' sides; servers are found by host."""

    def make(*args: Any, **more: Any) -> ClickHouse:
        made = WorldClickHouse(*args, **more)
        object.__setattr__(made, "server", servers[made.address.host])
        return made

    return make


class ServerInfo:
    """Server as it introduced itself."""

    used_revision = REVISION

    def get_timezone(self) -> str:
        return "UTC"

    def version_tuple(self) -> tuple[int, int, int]:
        return (18, 16, 1)


class _Out:
    """Buffer of the socket."""

    def __init__(self, connection: WorldConnection) -> None:
        self._connection = connection
        self._data = b""

    @property
    def fout(self) -> _Out:
        return self

    def write(self, data: Any) -> None:
        self._data += bytes(data)

    def finalize(self) -> None:
        """Sends what was written: one packet of data."""
        data, self._data = self._data, b""
        assert data.startswith(DATA_PACKET)
        self._connection.send_data(data.removeprefix(DATA_PACKET))


class WorldConnection:
    """Connection with the query that runs on it."""

    def __init__(self, client: WorldClient) -> None:
        self._client = client
        self.server_info = ServerInfo()
        self.block_out = _Out(self)
        self.fout = self.block_out
        self.socket = self
        self.settings: Mapping[str, Any] = {}
        self._query_id = ""

    def settimeout(self, seconds: float) -> None:
        self._client.seconds = seconds

    @contextmanager
    def timeout_setter(self, seconds: float) -> Iterator[None]:
        before, self._client.seconds = self._client.seconds, seconds
        try:
            yield
        finally:
            self._client.seconds = before

    def shutdown(self, _: int) -> None:
        self._client.fail(ConnectionAbortedError("shut down"))

    def send_query(self, query: str, query_id: str) -> None:
        names = query.split("`")[1::2]
        asked = AskedInsert(query_id, names[1], tuple(names[2:]), self.settings)
        line, self._query_id = self._client.line, query_id
        assert line is not None
        line.send(partial(line.server.insert, line, asked))

    def send_external_tables(self, _: None) -> None:
        """Sends nothing: inserts have none."""

    def send_data(self, data: bytes) -> None:
        line = self._client.line
        if line is None or not line.is_open:
            raise BrokenPipeError(32, "Broken pipe")
        if data != END:
            line.server.keeper.observer.sent(self._query_id)
        line.write(data)
        # A process may be stopped or killed between any two packets.
        pause(line.server.dice.uniform(0.0, 0.002))


class WorldClient:
    """Client that connects when it is used, and again after each error.

    Args:
        connect_seconds: for connecting.
        seconds: for each wait for an answer.
    """

    def __init__(self, server: Server, connect_seconds: float, seconds: float) -> None:
        self._server, self._connect_seconds, self.seconds = server, connect_seconds, seconds
        self.line: Line | None = None
        self.connection = WorldConnection(self)

    def execute(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        columnar: bool = False,
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> Any:
        with self.disconnect_on_error(query, {}):
            line = self.line
            assert line is not None
            line.send(partial(self._server.select, line, query, parameters or {}, settings))
            rows = self._receive()
        return by_columns(rows) if columnar else rows

    def execute_iter(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        settings: Mapping[str, Any] = MappingProxyType({}),
        chunk_size: int = 1,
    ) -> Iterator[Any]:
        """Yields rows, or lists of so many rows, as the driver does."""
        rows = self.execute(query, parameters, settings=settings)
        if chunk_size == 1:
            yield from rows
        else:
            yield from (rows[at : at + chunk_size] for at in range(0, len(rows), chunk_size))

    @contextmanager
    def disconnect_on_error(self, _: str, settings: Mapping[str, Any]) -> Iterator[None]:
        try:
            if self.line is None:
                wait(self._connect)
            self.connection.settings = settings
            yield
        except BaseException:
            self.disconnect()
            raise

    def receive_sample_block(self) -> Sample:
        sample = self._receive()
        assert isinstance(sample, Sample)
        return sample

    def receive_profile_events(self) -> None:
        """Receives nothing: servers of this revision send none."""

    def receive_end_of_insert_query(self) -> None:
        self._receive()

    def disconnect(self) -> None:
        if self.line is not None:
            self.line.close()
            self.line = None

    def fail(self, error: Exception) -> None:
        """Ends the wait of the thread that uses this client."""
        if self.line is not None:
            self.line.answers.put_nowait(error)

    def _receive(self) -> Any:
        line = self.line
        assert line is not None
        return wait(lambda: line.receive(self.seconds))

    async def _connect(self) -> None:
        server = self._server
        if not server.is_up:
            raise NetworkError(f"Connection refused by {server.name}")
        line = Line(server)
        line.send(partial(server.hello, line))
        try:
            await line.receive(self._connect_seconds)
        except TimeoutError:
            line.close()
            raise SocketTimeoutError(f"{server.name} is silent") from None
        process = CURRENT.get()
        if process is not None:
            process.at_kill.append(line.close)
        self.line = line
