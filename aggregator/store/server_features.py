"""Features of a ClickHouse server, found by asking it rather than by its version."""

from __future__ import annotations

from dataclasses import dataclass

from clickhouse_driver import Client

TOKEN = "insert_deduplication_token"
RECEIVE_TIMEOUT = "receive_timeout"
SEND_TIMEOUT = "send_timeout"
SUBQUERY_MUTATIONS = "allow_nondeterministic_mutations"
ASKED = (
    SUBQUERY_MUTATIONS,
    "async_insert",
    "insert_deduplicate",
    "insert_quorum",
    "insert_quorum_parallel",
    "insert_quorum_timeout",
    "max_insert_block_size",
    RECEIVE_TIMEOUT,
    "select_sequential_consistency",
    SEND_TIMEOUT,
    TOKEN,
)
"""Settings that inserts, reads and mutations use where the server has them."""
SETTINGS = "SELECT name FROM system.settings WHERE name IN %(names)s"
TABLES = "SELECT name FROM system.tables WHERE database = 'system'"


@dataclass(frozen=True, slots=True)
class ServerFeatures:
    """Features of one server.

    Args:
        settings: those of ASKED that the server has.
        system_tables: names of the tables in the database `system` that the user sees.
    """

    version: tuple[int, int, int]
    settings: frozenset[str] = frozenset(ASKED)
    system_tables: frozenset[str] = frozenset()

    @property
    def has_token(self) -> bool:
        return TOKEN in self.settings


def read_features(client: Client) -> ServerFeatures:
    """Returns the features of the server. Raises the errors of the driver and of the socket."""
    settings = client.execute(SETTINGS, {"names": ASKED})
    tables = client.execute(TABLES)
    return ServerFeatures(
        version=client.connection.server_info.version_tuple(),
        settings=frozenset(name for (name,) in settings),
        system_tables=frozenset(name for (name,) in tables),
    )
