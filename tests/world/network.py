"""Network of a world: connections in memory, with delays, cuts and silence.

The order of bytes on one connection is kept, as TCP keeps it. What is under way when a connection
is cut is lost, in either direction. What a client wrote before it closed a connection still
arrives, also late and after the client has opened another one.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.world.process import CURRENT, Process
from tests.world.virtual_loop import VirtualLoop

Address = tuple[str, int]
Accept = Callable[["Wire"], asyncio.BaseProtocol]
"""Makes the server's side of a new connection."""


@dataclass(slots=True)
class Delays:
    """Delays of messages one way, in seconds: mostly short, now and then long."""

    shortest: float = 0.0001
    usual: float = 0.001
    longest: float = 0.5
    long_share: float = 0.002

    def drawn(self, dice: random.Random) -> float:
        if dice.random() < self.long_share:
            return dice.uniform(self.usual, self.longest)
        return dice.uniform(self.shortest, self.usual)


class Watcher(Protocol):
    """Watcher of what processes write to servers, and of what they read from them."""

    def written(self, process: Process, data: bytes) -> None: ...
    def read(self, process: Process) -> None: ...


@dataclass(slots=True)
class Network:
    """Network that connects clients with the addresses that listen.

    Args:
        dice: decides all delays.
    """

    loop: VirtualLoop
    dice: random.Random
    delays: Delays = field(default_factory=Delays)
    listeners: dict[Address, Accept] = field(default_factory=dict)
    wires: list[Wire] = field(default_factory=list)
    requests: int = 0
    """Requests that brokers have read so far."""
    watchers: list[Watcher] = field(default_factory=list)
    _held: dict[Address, list[tuple[End, bytes | None]]] = field(default_factory=dict)

    async def dial(
        self, make_protocol: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        owner = CURRENT.get()
        await asyncio.sleep(self.delays.drawn(self.dice))
        if owner is not None and owner.is_dead:
            raise ConnectionAbortedError("the process is dead")
        address = (host, port)
        accept = self.listeners.get(address)
        if accept is None:
            raise ConnectionRefusedError(111, f"Connection refused by {host}:{port}")
        wire = Wire(self, address)
        if owner is not None:
            owner.at_kill.append(wire.client_killed)
        client = make_protocol()
        wire.connect(client, accept)
        self.wires.append(wire)
        return wire.client, client

    def outside(self, when: float, act: Callable[..., object], *args: Any) -> None:
        """Does something at a time, outside of all processes."""
        self.loop.call_at(when, act, *args, context=Context())

    def is_silent(self, address: Address) -> bool:
        return address in self._held

    def silence(self, address: Address) -> None:
        """Holds all bytes from and to an address, as while its process is stopped."""
        self._held.setdefault(address, [])

    def resume(self, address: Address) -> None:
        """Delivers what was held, in order."""
        for end, data in self._held.pop(address, []):
            end.arrived(data)

    def hold(self, end: End, address: Address, data: bytes | None) -> None:
        self._held[address].append((end, data))

    def cut(self, addresses: Iterable[Address]) -> None:
        """Ends every connection to these addresses; what is under way is lost."""
        for wire in self._to(addresses):
            wire.cut()

    def part(self, addresses: Iterable[Address], seconds: Callable[[], float]) -> None:
        """Ends every connection to these addresses for the clients. What they wrote arrives some
        time later; the answers reach nobody."""
        for wire in self._to(addresses):
            wire.part(seconds())

    def _to(self, addresses: Iterable[Address]) -> list[Wire]:
        gone = set(addresses)
        return [it for it in self.wires if it.address in gone]


class Wire:
    """Connection: a transport at each end."""

    def __init__(self, network: Network, address: Address) -> None:
        self.network, self.address = network, address
        self.client, self.server = End(self), End(self, is_server=True)
        self.is_open = True

    def connect(self, client: asyncio.BaseProtocol, accept: Accept) -> None:
        self.client.peer, self.server.peer = self.server, self.client
        self.client.protocol, self.server.protocol = client, accept(self)
        for end in (self.client, self.server):
            end.protocol.connection_made(end)

    def client_killed(self) -> None:
        """Ends the connection as a dead client's host does: after what was written."""
        self.client.is_deaf = True
        self.part(0.0)

    def part(self, seconds: float) -> None:
        """Ends the connection for the client at once, and for the server after what was written.

        Args:
            seconds: by which everything under way to the server is late.
        """
        if not self.is_open or self.client.is_over:
            return
        now = self.network.loop.time()
        self.client.is_over = True
        self.server.late_until = now + seconds
        self.network.outside(now, self.client.lost, None)
        ends_at = max(self.client.arrives_at, self.server.late_until) + 1e-6
        self.network.outside(ends_at, self.server.arrived, None)

    def cut(self, error: Exception | None = None) -> None:
        """Ends the connection at once, for both ends."""
        if not self.is_open:
            return
        self.is_open = False
        self.network.wires.remove(self)
        now = self.network.loop.time()
        for end in (self.client, self.server):
            if not end.is_over:
                end.is_over = True
                self.network.outside(now, end.lost, error)


class End(asyncio.Transport):
    """Transport of one end of a wire."""

    protocol: Any
    peer: End

    def __init__(self, wire: Wire, *, is_server: bool = False) -> None:
        super().__init__()
        self.is_server = is_server
        self._wire = wire
        self._owner = CURRENT.get()
        self.arrives_at = 0.0
        self.is_deaf = False
        """True for the end of a dead process: it writes and hears nothing."""
        self.is_over = False
        """True once the connection has ended for this end."""
        self.late_until = 0.0
        """Time before which nothing arrives here."""
        self._late: list[bytes] = []

    def write(self, data: Any) -> None:
        if not self._wire.is_open or self.is_deaf or self.is_over:
            return
        network = self._wire.network
        now = network.loop.time()
        # The loop does not keep the order of timers of one moment.
        self.arrives_at = max(self.arrives_at + 1e-9, now + network.delays.drawn(network.dice))
        network.outside(self.arrives_at, self.peer.arrived, bytes(data))
        if self._owner and not self.is_server:
            for watcher in [*network.watchers]:
                watcher.written(self._owner, data)

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.write(b"".join(list_of_data))

    def arrived(self, data: bytes | None) -> None:
        """Takes in what the other end wrote, or its end (None)."""
        network, address = self._wire.network, self._wire.address
        if not self._wire.is_open or self.is_over:
            return
        if data is not None and network.loop.time() < self.late_until:
            if not self._late:
                network.outside(self.late_until, self._arrived_late)
            self._late.append(data)
        elif network.is_silent(address):
            network.hold(self, address, data)
        elif data is None:
            self._wire.cut()
        else:
            self._act(self._receive, data)

    def _arrived_late(self) -> None:
        late, self._late = self._late, []
        for data in late:
            self.arrived(data)

    def lost(self, error: Exception | None) -> None:
        self._act(self.protocol.connection_lost, error)

    def _act(self, callback: Callable[..., object], *args: Any) -> None:
        if self._owner is None or self.is_server:
            callback(*args)
        else:
            self._owner.run(callback, *args)

    def _receive(self, data: bytes) -> None:
        if self.is_deaf:
            return
        if self._owner and not self.is_server:
            for watcher in [*self._wire.network.watchers]:
                watcher.read(self._owner)
        protocol = self.protocol
        if not isinstance(protocol, asyncio.BufferedProtocol):
            protocol.data_received(data)
            return
        at = 0
        while at < len(data) and self._wire.is_open:
            buffer = memoryview(protocol.get_buffer(len(data) - at))
            size = min(len(buffer), len(data) - at)
            buffer[:size] = data[at : at + size]
            protocol.buffer_updated(size)
            at += size

    def close(self) -> None:
        if self.is_server:
            self._wire.cut()
        else:
            self._wire.part(0.0)

    def abort(self) -> None:
        self.close()

    def is_closing(self) -> bool:
        return self.is_over or not self._wire.is_open

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default
