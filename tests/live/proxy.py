"""A TCP proxy before one broker, which can drop an answer and close the connection."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress

HEAD_BYTES = struct.calcsize(">hhih")
"""Size of a request header before its client id: API key and version, correlation id, and the
length of the client id."""


class Proxy:
    """Listens for one broker and forwards everything, until it is told to drop an answer.

    The broker's advertised listener must be this proxy's port, so that clients stay on it.
    """

    def __init__(self, port: int, broker_port: int) -> None:
        self.lost = 0
        self._broker_port = broker_port
        self._to_lose: list[tuple[int, str]] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_answer(self, api_key: int, client_id: str) -> None:
        """Drops the answer to the next request of this API key and client id."""
        with self._lock:
            self._to_lose.append((api_key, client_id))

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                broker = socket.create_connection(("127.0.0.1", self._broker_port))
                line = _Line(self, client, broker)
                for work in (line.requests, line.answers):
                    threading.Thread(target=work, daemon=True).start()

    def must_lose(self, request: tuple[int, str]) -> bool:
        """Returns True once for each call that asked to lose such a request's answer."""
        with self._lock:
            if request not in self._to_lose:
                return False
            self._to_lose.remove(request)
            return True


class _Line:
    """A single connection. Answers come in the order of the requests."""

    def __init__(self, proxy: Proxy, client: socket.socket, broker: socket.socket) -> None:
        self._proxy, self._client, self._broker = proxy, client, broker
        self._doomed: set[int] = set()

    def requests(self) -> None:
        pass_on(self._client, self._broker, self._note)

    def answers(self) -> None:
        pass_on(self._broker, self._client, self._is_kept)

    def _note(self, frame: bytes) -> bool:
        api_key, _, correlation, size = struct.unpack_from(">hhih", frame)
        client_id = frame[HEAD_BYTES : HEAD_BYTES + max(0, size)].decode()
        if self._proxy.must_lose((api_key, client_id)):
            self._doomed.add(correlation)
        return True

    def _is_kept(self, frame: bytes) -> bool:
        (correlation,) = struct.unpack_from(">i", frame)
        if correlation in self._doomed:
            self._proxy.lost += 1
            return False
        return True


def pass_on(source: socket.socket, target: socket.socket, is_kept: Callable[[bytes], bool]) -> None:
    """Forwards whole frames; closes the connection once `is_kept` refuses one."""
    with suppress(OSError, EOFError):
        while True:
            head = _exactly(source, 4)
            frame = _exactly(source, struct.unpack(">i", head)[0])
            if not is_kept(frame):
                break
            target.sendall(head + frame)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


def _exactly(source: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = source.recv(count - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)
