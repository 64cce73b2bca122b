"""Replica of a shard: connections to one ClickHouse server, kept for threads that take turns."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from clickhouse_driver import Client

from aggregator.store.server_features import ServerFeatures, read_features
from replicator.clickhouse.server import ClickHouse

CONNECT_SECONDS_MAX = 5.0
WHOLE_ANSWERS = {
    "read_overflow_mode": "throw",
    "read_overflow_mode_leaf": "throw",
    "group_by_overflow_mode": "throw",
    "sort_overflow_mode": "throw",
    "set_overflow_mode": "throw",
    "distinct_overflow_mode": "throw",
    "result_overflow_mode": "throw",
    "timeout_overflow_mode": "throw",
    "timeout_overflow_mode_leaf": "throw",
    "transfer_overflow_mode": "throw",
    # 18.16 refuses each query that has it once a partition of the table was dropped.
    "select_sequential_consistency": 0,
    "limit": 0,
    "offset": 0,
    "use_query_cache": 0,
    "additional_table_filters": "{}",
    "additional_result_filter": "",
    "aggregate_functions_null_for_empty": 0,
    "empty_result_for_aggregation_by_empty_set": 0,
}
"""Settings of each query, whatever the user's profile has: no answer lacks rows in silence, and
none is an old one. A block whose rows are not seen would be stored twice. Servers pass those that
they do not know; before 20.1, the driver does."""


@dataclass(frozen=True, slots=True, eq=False)
class Connected:
    """Connection that one thread uses."""

    client: Client
    features: ServerFeatures


class Replica:
    """Connections to one server. Any thread may take one.

    Args:
        kept: connections that stay open while nobody uses them.
    """

    def __init__(self, server: ClickHouse, *, kept: int) -> None:
        self.server = server
        self._kept = kept
        self._lock = threading.Lock()
        self._idle: list[Connected] = []
        self._used: set[Connected] = set()
        self._is_closed = False

    def __str__(self) -> str:
        return str(self.server.address)

    @contextmanager
    def connected(self) -> Iterator[Connected]:
        """Yields a connection; after an error it is not used again.

        Raises the errors of the driver and of the socket.
        """
        connected = self._taken() or self._made()
        with self._lock:
            self._used.add(connected)
        is_sound = False
        try:
            yield connected
            is_sound = True
        finally:
            self._give_back(connected, is_sound=is_sound)

    def close(self) -> None:
        """Ends all connections; inserts that wait for an answer fail."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            used = list(self._used)
        for connected in idle:
            connected.client.disconnect()
        for connected in used:
            # The thread that waits for an answer gets an error, and disconnects.
            with suppress(OSError, AttributeError):
                connected.client.connection.socket.shutdown(socket.SHUT_RDWR)

    def _taken(self) -> Connected | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _made(self) -> Connected:
        timeout = min(CONNECT_SECONDS_MAX, self.server.timeout_seconds)
        client = self.server.client(
            connect_timeout=timeout,
            sync_request_timeout=timeout,
            client_name="sluice",
            settings=dict(WHOLE_ANSWERS),
        )
        try:
            return Connected(client, read_features(client))
        except BaseException:
            client.disconnect()
            raise

    def _give_back(self, connected: Connected, *, is_sound: bool) -> None:
        with self._lock:
            self._used.discard(connected)
            is_kept = is_sound and not self._is_closed and len(self._idle) < self._kept
            if is_kept:
                self._idle.append(connected)
        if not is_kept:
            connected.client.disconnect()
