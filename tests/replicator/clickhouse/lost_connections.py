"""Errors of the ClickHouse driver when a connection is refused, silent or lost."""

from __future__ import annotations

from clickhouse_driver.errors import NetworkError, SocketTimeoutError

LOST_CONNECTIONS: tuple[Exception, ...] = (
    NetworkError("Connection refused (localhost:1)"),
    SocketTimeoutError("(localhost:1)"),
    ConnectionResetError(104, "Connection reset by peer"),
    EOFError("Unexpected EOF while reading bytes"),
    TimeoutError(),
)
