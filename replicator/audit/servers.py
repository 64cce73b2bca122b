"""Servers of an audit: each is called until it does not answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from replicator.runtime.store_errors import StoreUnreachable

T = TypeVar("T")


class Servers:
    """Servers by the names that people know them by, and the errors of those that do not answer."""

    def __init__(self) -> None:
        self._problems: dict[str, str] = {}

    @property
    def problems(self) -> tuple[str, ...]:
        """Error texts, each once: many partitions report the same server when it goes away."""
        return tuple(dict.fromkeys(self._problems.values()))

    def give_up(self, server: str, error: Exception) -> None:
        """Notes that a server does not answer; its first error is kept."""
        self._problems.setdefault(server, str(error))

    async def call(self, server: str, request: Callable[[], Awaitable[T]]) -> T | None:
        """Makes a request; returns None if the server does not answer, or did not before."""
        if server in self._problems:
            return None
        try:
            return await request()
        except (AdminError, Answered, StoreUnreachable, Unreachable) as error:
            self.give_up(server, error)
            return None
