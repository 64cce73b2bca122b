"""Addresses at which nobody answers, of each kind."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


def refusing() -> str:
    """Returns an address that refuses connections."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


@contextmanager
def silent() -> Iterator[str]:
    """Yields an address that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def dropping() -> Iterator[str]:
    """Yields an address that neither accepts nor refuses: its queue of connections is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server, ExitStack() as clients:
        for _ in range(4):
            client = clients.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield f"127.0.0.1:{server.getsockname()[1]}"
