"""Broker of a world's cluster: reads requests from its connections and answers them in order.

A broker handles one request of a connection at a time, as Kafka's SocketServer does. `handlers`
name the answer to each API; the coordinators' ones are in modules of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any

from tests.world.kafka.requests import LENGTH, VERSIONS, Asked, read, versions, written
from tests.world.network import Wire

if TYPE_CHECKING:
    from tests.world.kafka.kafka_cluster import KafkaCluster

THROTTLED = frozenset({0, 1})
"""API keys for which a quota closes the connection for a while: Produce and Fetch."""
Handler = Callable[["Broker", Asked], Awaitable[Any]]


class Broker:
    """Broker with its connections.

    Args:
        handlers: by API key; each returns the fields of the answer, or its bytes.
    """

    def __init__(
        self, cluster: KafkaCluster, node: int, port: int, handlers: dict[int, Handler]
    ) -> None:
        self.cluster, self.node, self.port = cluster, node, port
        self.handlers = handlers
        self.is_up = False
        self.is_isolated = False
        """Cut off from the other brokers and the controller, and reached by clients."""
        self.throttle_seconds = 0.0
        """Time for which the quota of clients is used up, as told to each of them."""
        self.life = 0
        """Number of starts; work of an earlier life is dropped."""
        self.memory: dict[Any, Any] = {}
        """Values that handlers keep while the process lives, such as fetch sessions."""
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> tuple[str, int]:
        return (self.cluster.host, self.port)

    def accept(self, wire: Wire) -> asyncio.BaseProtocol:
        """Returns the server's side of a new connection."""
        return _Served(self, wire)

    def start(self) -> None:
        self.is_up = True
        self.life += 1
        self.memory = {}
        self.cluster.network.listeners[self.address] = self.accept

    def kill(self) -> None:
        self.is_up = False
        self.cluster.network.listeners.pop(self.address, None)
        self.cluster.network.cut([self.address])
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()

    def begin(self, work: Any) -> asyncio.Task[None]:
        """Runs work of this life in the background."""
        task = self.cluster.network.loop.create_task(self._done(work), context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @property
    def throttle_ms(self) -> int:
        return int(self.throttle_seconds * 1000)

    async def _done(self, work: Any) -> None:
        try:
            await work
        except Exception as error:
            self.cluster.network.loop.fail(error)


class _Served(asyncio.Protocol):
    """Server's side of one connection."""

    def __init__(self, broker: Broker, wire: Wire) -> None:
        self._broker, self._wire = broker, wire
        self._data = b""
        self._is_busy = self._is_over = False
        self._frames: asyncio.Queue[bytes] = asyncio.Queue()
        self._task = broker.begin(self._serve())

    def data_received(self, data: bytes) -> None:
        self._data += data
        while len(self._data) >= LENGTH.size:
            (size,) = LENGTH.unpack_from(self._data)
            if len(self._data) < LENGTH.size + size:
                return
            self._frames.put_nowait(self._data[LENGTH.size : LENGTH.size + size])
            self._data = self._data[LENGTH.size + size :]

    def connection_lost(self, exc: Exception | None) -> None:
        # A request that was read is carried out, also for a client that has gone. What else has
        # arrived is read until the client's host answers that nobody listens.
        self._is_over = True
        if not self._is_busy and self._frames.empty():
            self._task.cancel()

    async def _serve(self) -> None:
        broker, network = self._broker, self._broker.cluster.network
        while not self._is_over or broker.cluster.reads_on(self._frames.qsize()):
            asked = read(await self._frames.get())
            self._is_busy = True
            network.requests += 1
            await asyncio.sleep(broker.cluster.work_seconds())
            if asked.key == VERSIONS:
                body = (0, versions(broker.handlers))
            else:
                body = await broker.handlers[asked.key](broker, asked)
            self._is_busy = False
            if body is not None:
                self._wire.server.write(written(asked, body))
            if broker.throttle_seconds and asked.key in THROTTLED:
                await asyncio.sleep(broker.throttle_seconds)
