"""A TCP proxy before ZooKeeper, which loses the commit of an inserted part, or the answer to it."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from enum import Enum
from typing import Self

from tests.live.proxy import pass_on

MULTI = 14
LOG_ENTRY, PART = b"/log/log-", b"/parts/"
"""Paths that the commit of an inserted part creates in one request."""


class Lost(Enum):
    """Part of a commit that is lost, and with it the knowledge whether the commit was made."""

    REQUEST = "not made"
    ANSWER = "made"


class CommitProxy:
    """Forwards everything until it is told to lose a commit; then it closes that connection."""

    def __init__(self, server_port: int, port: int) -> None:
        self._server_port = server_port
        self._next: Lost | None = None
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def lose(self, lost: Lost) -> None:
        """Loses the next commit, or the answer to it."""
        with self._lock:
            self._next = lost

    @property
    def has_lost(self) -> bool:
        """Returns True once the commit has come that was to be lost."""
        return self._next is None

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
                doomed: set[int] = set()
                for source, target, is_kept in (
                    (client, server, lambda frame, it=doomed: self._is_sent(frame, it)),
                    (server, client, lambda frame, it=doomed: _id_of(frame) not in it),
                ):
                    work = (source, target, is_kept)
                    threading.Thread(target=pass_on, args=work, daemon=True).start()

    def _is_sent(self, frame: bytes, doomed: set[int]) -> bool:
        """Returns False for a commit to lose; adds the request whose answer is to be lost."""
        number, kind = struct.unpack_from(">ii", frame)
        if kind != MULTI or LOG_ENTRY not in frame or PART not in frame:
            return True
        with self._lock:
            lost, self._next = self._next, None
        if lost is Lost.ANSWER:
            doomed.add(number)
        return lost is not Lost.REQUEST


def _id_of(frame: bytes) -> int:
    (number,) = struct.unpack_from(">i", frame)
    return int(number)
