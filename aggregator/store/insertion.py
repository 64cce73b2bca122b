"""Insertion: one block into a table by one insert, in ClickHouse's native protocol.

The encoded columns of a block go to the socket as they are: no cell becomes a Python object.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from clickhouse_driver import Client
from clickhouse_driver.connection import Connection
from clickhouse_driver.errors import Error
from clickhouse_driver.protocol import ClientPacketTypes
from clickhouse_driver.varint import write_varint
from clickhouse_driver.writer import write_binary_str

from aggregator.store.identifier import quoted
from aggregator.store.insert_errors import TooLate
from aggregator.store.server_features import RECEIVE_TIMEOUT, SEND_TIMEOUT, TOKEN, ServerFeatures
from aggregator.tables.native_block import NativeBlock

QUORUM_PART = 0.8
"""Part of an insert's timeout after which the server stops waiting for the quorum. It then says
so, where a client that stopped waiting first would know less."""
EMPTY = NativeBlock((), (), (), 0)
"""Block that ends the data of an insert."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertOptions:
    """Options of one insert.

    Args:
        query_id: names the block. The server refuses a second insert of this id while one runs.
        quorum: replicas that must have the block before the server acknowledges it; 0 and 1: the
            server itself.
        token: by which servers that know tokens recognize the block.
        timeout_seconds: for each wait for the server.
        not_after: time by the monotonic clock after which the block is not sent any more.
    """

    query_id: str
    quorum: int
    token: str
    timeout_seconds: float
    not_after: float = math.inf


class InsertFailed(Exception):
    """Insert that the server has not acknowledged; `__cause__` is the error.

    Classify the error: the next action depends on it.

    Args:
        was_sent: data of the block were given to the socket.
    """

    def __init__(self, error: Exception, *, was_sent: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.was_sent = was_sent


class ColumnsDiffer(Error):  # type: ignore[misc]
    """Columns of the table that differ from those of the block. Read the schema again."""

    code = 16  # NO_SUCH_COLUMN_IN_TABLE


def insert(
    client: Client,
    features: ServerFeatures,
    database: str,
    table: str,
    block: NativeBlock,
    options: InsertOptions,
) -> None:
    """Inserts a block, and returns once the server has acknowledged it.

    Raises InsertFailed; the client is disconnected then.
    """
    query = _query(database, table, block.names)
    was_sent = False
    try:
        with client.disconnect_on_error(query, insert_settings(features, options, block.rows)):
            connection = client.connection
            connection.socket.settimeout(options.timeout_seconds)
            connection.send_query(query, query_id=options.query_id)
            connection.send_external_tables(None)
            _check(client.receive_sample_block().columns_with_types, block)
            if time.monotonic() > options.not_after:
                raise TooLate(f"{options.query_id} was not sent in time")
            was_sent = True
            _send(connection, block)
            client.receive_profile_events()
            _send(connection, EMPTY)
            client.receive_profile_events()
            client.receive_end_of_insert_query()
    except (Error, OSError, EOFError, TooLate) as error:
        raise InsertFailed(error, was_sent=was_sent) from error


def insert_nothing(
    client: Client,
    features: ServerFeatures,
    database: str,
    table: str,
    columns: Sequence[str],
    options: InsertOptions,
) -> None:
    """Inserts a block without rows. The server checks the table, the rights and the limits as for
    any insert, and stores nothing.

    Raises InsertFailed; the client is disconnected then.
    """
    query = _query(database, table, columns)
    try:
        with client.disconnect_on_error(query, insert_settings(features, options, 0)):
            connection = client.connection
            # The next query on this connection may take longer.
            with connection.timeout_setter(options.timeout_seconds):
                connection.send_query(query, query_id=options.query_id)
                connection.send_external_tables(None)
                client.receive_sample_block()
                _send(connection, EMPTY)
                client.receive_profile_events()
                client.receive_end_of_insert_query()
    except (Error, OSError, EOFError) as error:
        raise InsertFailed(error, was_sent=False) from error


def _query(database: str, table: str, columns: Sequence[str]) -> str:
    names = ", ".join(map(quoted, columns))
    return f"INSERT INTO {quoted(database, table)} ({names}) VALUES"


def insert_settings(
    features: ServerFeatures, options: InsertOptions, rows: int
) -> dict[str, int | str]:
    """Returns the settings of an insert that the server has: one insert is one block."""
    wanted: dict[str, int | str] = {
        "async_insert": 0,
        "insert_deduplicate": 1,
        "max_insert_block_size": max(rows, 1),
        # By default the server waits 300 s for the rest of a block whose client froze, and the next
        # loader as long for the server. Older servers wait receive_timeout for a packet to begin,
        # and send_timeout for its rest: for the socket they exchange the two.
        RECEIVE_TIMEOUT: math.ceil(options.timeout_seconds),
        SEND_TIMEOUT: math.ceil(options.timeout_seconds),
        TOKEN: options.token,
    }
    if options.quorum > 1:
        timeout_ms = round(options.timeout_seconds * 1000 * QUORUM_PART)
        # Reads with sequential consistency need quorum inserts that follow one another.
        wanted |= {
            "insert_quorum": options.quorum,
            "insert_quorum_timeout": timeout_ms,
            "insert_quorum_parallel": 0,
        }
    return {name: value for name, value in wanted.items() if name in features.settings}


def _check(expected: list[tuple[str, str]], block: NativeBlock) -> None:
    """Raises ColumnsDiffer if the server would have to convert a column."""
    for (name, expected_type), block_type in zip(expected, block.types, strict=True):
        if expected_type != block_type:
            raise ColumnsDiffer(
                f"column {name} is of type {expected_type}, the block has {block_type}"
            )


def _send(connection: Connection, block: NativeBlock) -> None:
    """Sends a block as Connection.send_data does, which would encode its columns."""
    write_varint(ClientPacketTypes.DATA, connection.fout)
    write_binary_str("", connection.fout)  # no name: not a temporary table
    revision = connection.server_info.used_revision
    connection.block_out.fout.write(block.bytes_of(revision=revision))
    connection.block_out.finalize()
