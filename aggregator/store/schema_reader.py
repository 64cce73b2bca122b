"""Schema reader: tables of a database as ClickHouse describes them, from 18.16 on."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from clickhouse_driver import Client

from aggregator.store.server_features import ServerFeatures, read_features
from aggregator.store.table_engine import TableEngine, columns_of
from aggregator.tables.table_schema import Column, TableSchema

HAS_POSITION = """
SELECT count() FROM system.columns
WHERE database = 'system' AND table = 'columns' AND name = 'position'
"""
COLUMNS = """
SELECT table, name, type, default_kind, default_expression FROM system.columns
WHERE database = %(database)s
"""
TABLES = """
SELECT name, engine, engine_full, create_table_query, dependencies_table, partition_key
FROM system.tables WHERE database = %(database)s
"""
HAS_VERSION = """
SELECT count() FROM system.columns
WHERE database = 'system' AND table = 'replicas' AND name = 'columns_version'
"""
REPLICAS = """
SELECT table, zookeeper_path, {version} FROM system.replicas WHERE database = %(database)s
"""
WINDOWS = "SELECT name, value FROM system.{table} WHERE name LIKE '%%deduplication_window%%'"
WINDOW = "replicated_deduplication_window"


@dataclass(frozen=True, slots=True)
class TableFacts:
    """Facts about a table that inserts and `sluice aggregate check` need.

    Args:
        described: the engine with its clauses; None: as `engine` names it.
        partition_key: expression; empty for a table of one partition.
        path: of a replicated table in ZooKeeper.
        columns_version: number of the ALTERs that the replica has done.
        window_seconds: time for which a replicated table keeps the hashes of blocks; None for
            other tables.
    """

    schema: TableSchema
    engine: str
    partition_key: str = ""
    window_seconds: int | None = None
    described: TableEngine | None = None
    path: str = ""
    columns_version: int = 0

    @property
    def kind(self) -> TableEngine:
        """The engine, and what follows from it."""
        return self.described or TableEngine(self.engine)

    def window_used(self, age_seconds: float, blocks: float) -> float | None:
        """Returns the part of the deduplication window that has passed since a block was sealed;
        None if the table has no window.

        Args:
            blocks: stored in the table since then.
        """
        if not self.schema.deduplication_window:
            return None
        by_time = age_seconds / self.window_seconds if self.window_seconds else 0.0
        return max(by_time, blocks / self.schema.deduplication_window)


def read_schemas(client: Client, database: str) -> dict[str, TableSchema]:
    """Returns the schemas of a database's tables, without views. Raises the errors of the
    driver."""
    found = read_tables(client, database).items()
    return {name: facts.schema for name, facts in found if not facts.kind.is_view}


def read_tables(
    client: Client, database: str, features: ServerFeatures | None = None
) -> dict[str, TableFacts]:
    """Returns the tables and views of a database. Raises the errors of the driver."""
    found = features or read_features(client)
    parameters = {"database": database}
    [(has_position,)] = client.execute(HAS_POSITION)
    # 18.16 returns the columns of a table in their order, and has no other sign of it.
    order = " ORDER BY table, position" if has_position else ""
    columns = defaultdict(list)
    for table, name, type_, kind, expression in client.execute(COLUMNS + order, parameters):
        if isinstance(name, str):
            columns[table].append(Column(name, _type(type_), kind, as_text(expression)))
    defaults = _window_defaults(client, found)
    copies = _copies(client, database, found)
    timezone = client.connection.server_info.get_timezone() or "UTC"
    return {
        name: _facts(
            TableSchema(name, tuple(columns[name]), timezone=timezone),
            TableEngine(
                engine, as_text(clauses), columns_of(as_text(query)), tuple(map(as_text, views))
            ),
            as_text(partition_key),
            defaults,
            *copies.get(name, ("", 0)),
        )
        for name, engine, clauses, query, views, partition_key in client.execute(TABLES, parameters)
        if isinstance(name, str) and not name.startswith(".inner")
    }


def as_text(value: str | bytes) -> str:
    """Returns a text of a server. The driver returns one that is no UTF-8 as bytes.

    A literal of an expression or a comment may have such bytes. Columns and tables with such names
    are left to the server: no record can name them.
    """
    return value if isinstance(value, str) else value.decode(errors="backslashreplace")


def _type(name: str | bytes) -> str:
    """Returns the name of a type; of one that is no UTF-8 a name that no type has."""
    return name if isinstance(name, str) else f"no UTF-8: {as_text(name)}"


def _copies(client: Client, database: str, features: ServerFeatures) -> dict[str, tuple[str, int]]:
    """Returns the path and the version of the columns of each replicated table."""
    if "replicas" not in features.system_tables:
        return {}
    [(has_version,)] = client.execute(HAS_VERSION)
    query = REPLICAS.format(version="columns_version" if has_version else "0")
    return {
        table: (path, version)
        for table, path, version in client.execute(query, {"database": database})
    }


def _window_defaults(client: Client, features: ServerFeatures) -> dict[str, int]:
    """Returns the server's own values of settings that a table does not have."""
    defaults: dict[str, int] = {}
    # Newer servers have other values for the Replicated engines.
    for table in ("merge_tree_settings", "replicated_merge_tree_settings"):
        if table in features.system_tables:
            for name, value in client.execute(WINDOWS.format(table=table), {}):
                defaults[name] = int(value)
    return defaults


def _facts(
    schema: TableSchema,
    kind: TableEngine,
    partition_key: str,
    defaults: Mapping[str, int],
    path: str,
    columns_version: int,
) -> TableFacts:
    engine = kind.name
    is_replicated = engine.startswith("Replicated")
    windows = {**defaults, **_own_windows(kind.clauses)}
    window = windows.get(WINDOW if is_replicated else f"non_{WINDOW}", 0)
    return TableFacts(
        schema=replace(
            schema,
            is_replicated=is_replicated,
            deduplication_window=window if engine.endswith("MergeTree") else 0,
        ),
        engine=engine,
        partition_key="" if partition_key == "tuple()" else partition_key,
        window_seconds=windows.get(f"{WINDOW}_seconds") if is_replicated else None,
        described=kind,
        path=path,
        columns_version=columns_version,
    )


def _own_windows(engine_full: str) -> dict[str, int]:
    """Returns the deduplication windows that a table's engine names among its SETTINGS."""
    settings = engine_full.rpartition(" SETTINGS ")[2]
    found = re.findall(r"\b((?:non_)?replicated_deduplication_window\w*)\s*=\s*'?(\d+)", settings)
    return {name: int(value) for name, value in found}
