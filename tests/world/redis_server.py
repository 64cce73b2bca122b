"""Redis of a world: fakeredis as its store, behind connections of the world's network.

Clients speak their real protocol, and scripts run in a real Lua. The server does one thing after
the other. It restarts with all of its data, without the last writes, or empty; each start has a
run id of its own.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

import redis
from fakeredis import FakeServer
from fakeredis._clients._tcp_server import encode_reply
from fakeredis._socket import FakeSocket

from tests.world.network import Network, Wire

PORT = 6379
END = b"\r\n"


class RedisServer:
    """Redis server, reached at its name.

    Args:
        name: its host name on the network.
        dice: decides how long it works.
    """

    def __init__(self, name: str, network: Network, dice: random.Random) -> None:
        self.name, self.network, self.dice = name, network, dice
        self.url = f"redis://{name}:{PORT}/0"
        self.run_id = ""
        self.slow_until = 0.0
        """Time until which each request takes long."""
        self._life = 0
        self._free_at = 0.0
        self._journal: list[tuple[float, int, list[bytes]]] = []
        """Requests that were carried out: their time, their connection and their words."""
        self._connections = 0
        self.store = FakeServer()
        self.start()

    @property
    def address(self) -> tuple[str, int]:
        return (self.name, PORT)

    @property
    def is_up(self) -> bool:
        return self.address in self.network.listeners

    def start(self) -> None:
        self._life += 1
        self.run_id = f"{self.dice.getrandbits(160):040x}"
        self.network.listeners[self.address] = self._accept

    def kill(self) -> None:
        """Ends the server at once; what it has not carried out yet is lost."""
        self.network.listeners.pop(self.address, None)
        self.network.cut([self.address])

    def restart(self, *, lost_seconds: float = 0.0) -> None:
        """Starts a killed server with what its disk has: all but the writes of the last seconds.

        Without a disk (infinite seconds) it starts empty.
        """
        kept_until = self.network.loop.time() - lost_seconds
        journal = [row for row in self._journal if row[0] <= kept_until]
        self.store, self._journal = FakeServer(), []
        sockets: dict[int, Connection] = {}
        for at, connection, words in journal:
            if connection not in sockets:
                sockets[connection] = Connection(self, connection)
            sockets[connection].carry_out(words, at)
        self.start()

    def flush(self) -> None:
        """Deletes everything, as an operator's FLUSHALL does."""
        self._connections += 1
        words = [b"FLUSHALL"]
        Connection(self, self._connections).carry_out(words, self.network.loop.time())

    def done(self, connection: int, words: list[bytes], at: float) -> None:
        """Remembers a request that was carried out."""
        self._journal.append((at, connection, words))

    def soon(self, act: Any, *args: Any) -> None:
        """Does something in this life once the server is free."""
        now, life = self.network.loop.time(), self._life
        seconds = self.dice.uniform(0.00002, 0.0002)
        if now < self.slow_until:
            seconds = self.dice.uniform(0.05, 3.0)
        self._free_at = max(self._free_at + 1e-9, now + seconds)

        def work() -> None:
            if self._life == life and self.is_up:
                act(*args)

        self.network.outside(self._free_at, work)

    def _accept(self, wire: Wire) -> asyncio.BaseProtocol:
        self._connections += 1
        return _Served(self, wire, self._connections)


class Connection(FakeSocket):
    """Server's side of a connection: words go in, answers come out as bytes."""

    def __init__(self, server: RedisServer, number: int) -> None:
        super().__init__(server.store, 0, client_class=redis.Redis)
        self._redis_server, self._number = server, number
        self._answered = b""

    def carry_out(self, words: list[bytes], at: float) -> bytes:
        """Carries out one request; returns the answer."""
        self._answered = b""
        if words[0].upper() == b"INFO":
            # fakeredis does not have it.
            self.put_response(b"# Server\r\nrun_id:%s\r\n" % self._redis_server.run_id.encode())
        else:
            self._redis_server.done(self._number, words, at)
            self._process_command(words)
        return self._answered

    def put_response(self, msg: Any) -> None:
        answer = encode_reply(msg, self._resp_version)
        if isinstance(msg, Exception):
            # fakeredis answers a Lua error with its traceback. An error is one line.
            answer = answer.removesuffix(END).replace(b"\n", b" ") + END
        self._answered += answer


class _Served(asyncio.Protocol):
    """Reads requests from a wire, and writes the answers."""

    def __init__(self, server: RedisServer, wire: Wire, number: int) -> None:
        self._server, self._wire = server, wire
        self._connection = Connection(server, number)
        self._data = b""

    def data_received(self, data: bytes) -> None:
        self._data += data
        requests = []
        while (found := _request(self._data)) is not None:
            words, size = found
            self._data = self._data[size:]
            requests.append(words)
        if requests:
            self._server.soon(self._serve, requests)

    def _serve(self, requests: list[list[bytes]]) -> None:
        # Requests that were read are carried out, also for a client that has gone.
        now = self._server.network.loop.time()
        answered = b"".join(self._connection.carry_out(words, now) for words in requests)
        if self._wire.is_open:
            self._wire.server.write(answered)


def _request(data: bytes) -> tuple[list[bytes], int] | None:
    """Returns the words of the first request, and its size; None while it is not whole."""
    at = data.find(END)
    if at < 0:
        return None
    count, at = int(data[1:at]), at + len(END)
    words = []
    for _ in range(count):
        end = data.find(END, at)
        if end < 0:
            return None
        size, at = int(data[at + 1 : end]), end + len(END)
        if len(data) < at + size + len(END):
            return None
        words.append(data[at : at + size])
        at += size + len(END)
    return words, at
