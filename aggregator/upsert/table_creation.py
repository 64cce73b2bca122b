"""Table creation: makes the tables and the view of an upsert table on each replica of its shard.

All replicas are looked at first. Nothing is made while a table that is there differs from what the
settings need, so that all differences are seen at once. Each statement may be repeated: a creation
that ended half-way is ended by the next one.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from clickhouse_driver import Client

from aggregator.store.identifier import quoted
from aggregator.store.recognition import replica_path
from aggregator.store.replica import Connected, Replica
from aggregator.store.schema_reader import as_text, read_tables
from aggregator.store.shard_store import DRIVER_ERRORS, ShardStore
from aggregator.upsert.upsert_schema import (
    FoundTable,
    ServerTraits,
    StoreTable,
    TableRules,
    differences,
    is_current,
    settled_view,
    store_tables,
    view_differences,
)
from replicator.clickhouse.errors import code_of
from replicator.clickhouse.errors import reason as reason_of

TYPES = "_sluice_types"
"""Temporary table by which a server says how it writes types. Only its session sees it."""
SORTING = "SELECT name, sorting_key FROM system.tables WHERE database = %(database)s"
SETTINGS = "SELECT name FROM system.merge_tree_settings"
MACROS = "SELECT macro, substitution FROM system.macros"
KEEPER = "SELECT count() FROM system.zookeeper WHERE path = '/'"
NODES = "SELECT name FROM system.zookeeper WHERE path = %(path)s"


@dataclass(frozen=True, slots=True, order=True)
class ServerFinding:
    """Finding about a table, or about a server where `table` is empty."""

    server: str
    table: str
    text: str


@dataclass(slots=True)
class TableCreation:
    """Result of one creation.

    Args:
        made: (server, table or view) that were made.
        present: (server, table or view) that were there, as they have to be.
        mistakes: differences; nothing was made if there are any.
        failures: servers that did not answer, or refused a statement.
        abandoned: replicas that ZooKeeper has, and no server of the shard; looked for if all
            servers answer.
    """

    made: list[tuple[str, str]] = field(default_factory=list)
    present: list[tuple[str, str]] = field(default_factory=list)
    mistakes: list[ServerFinding] = field(default_factory=list)
    failures: list[ServerFinding] = field(default_factory=list)
    abandoned: list[ServerFinding] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return not self.mistakes and not self.failures


@dataclass(frozen=True, slots=True)
class ServerTables:
    """Tables of a server.

    Args:
        types: of the columns of each wanted table, as the server writes them.
        name: of its replica of the table of rows; empty without one.
    """

    traits: ServerTraits
    found: Mapping[str, FoundTable]
    types: Mapping[str, Mapping[str, str]]
    name: str


def create_tables(store: ShardStore, table: TableRules, *, is_dry: bool = False) -> TableCreation:
    """Makes what is missing of the store's tables. Blocking; raises nothing.

    Args:
        is_dry: looks only; tables that are missing are in neither list.
    """
    wanted = store_tables(table)
    result = TableCreation()
    looks: dict[Replica, ServerTables] = {}
    for replica in store.replicas:
        try:
            with replica.connected() as it:
                looks[replica] = _look(it, store.database, wanted)
        except DRIVER_ERRORS as error:
            result.failures.append(ServerFinding(str(replica), "", _reason(error, store.database)))
    for replica, look in looks.items():
        result.mistakes += _mistakes(str(replica), table, wanted, look, len(store.replicas))
    result.mistakes.sort()
    for replica, look in looks.items():
        _make(replica, store.database, table, wanted, look, result, is_dry=is_dry)
    if not result.failures:
        try:
            result.abandoned += _abandoned(store, wanted)
        except DRIVER_ERRORS as error:
            text = _reason(error, store.database)
            result.failures.append(ServerFinding(str(store.replicas[0]), "", text))
    return result


def read_traits(client: Client) -> ServerTraits:
    """Returns the traits of a server. Raises the errors of the driver and of the socket.

    Each call gives another name of a replica. Settle points name replicas, and tables that are made
    anew have nothing of what was counted in those before them (decision 0103).
    """
    settings = frozenset(name for (name,) in client.execute(SETTINGS))
    macros = dict(client.execute(MACROS))
    is_replica = {"shard", "replica"} <= macros.keys() and _has_keeper(client)
    return ServerTraits(
        f"{macros['replica']}-{secrets.token_hex(4)}" if is_replica else "", settings
    )


def _has_keeper(client: Client) -> bool:
    known = client.execute("EXISTS TABLE system.zookeeper")
    if known != [(1,)]:
        return False
    try:
        client.execute(KEEPER)
    except DRIVER_ERRORS as error:
        # The table is there without ZooKeeper too, and fails then; any other error is one.
        if code_of(error) in (139, 225, 999):
            return code_of(error) == 999
        raise
    return True


def _look(it: Connected, database: str, wanted: tuple[StoreTable, ...]) -> ServerTables:
    facts = read_tables(it.client, database, it.features)
    sorting = {
        name: as_text(key) for name, key in it.client.execute(SORTING, {"database": database})
    }
    found = {
        name: FoundTable(
            each.engine,
            each.schema.columns,
            sorting.get(name, ""),
            each.partition_key,
            _statement(it.client, database, name) if each.kind.is_view else "",
            each.schema.deduplication_window,
        )
        for name, each in facts.items()
    }
    types = {each.name: canonical_types(it.client, each.columns) for each in wanted}
    name = replica_name(it.client, database, wanted[0].name)
    return ServerTables(read_traits(it.client), found, types, name)


def replica_name(client: Client, database: str, table: str) -> str:
    """Returns the name of the server's replica of a table; empty for one that is not replicated.

    Raises the errors of the driver.
    """
    return replica_path(client, database, table).rpartition("/")[2]


def canonical_types(client: Client, columns: Mapping[str, str]) -> dict[str, str]:
    """Returns types as the server writes them. Raises the errors of the driver."""
    listed = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
    client.execute(f"DROP TEMPORARY TABLE IF EXISTS {TYPES}")
    client.execute(f"CREATE TEMPORARY TABLE {TYPES} ({listed})")
    try:
        return {name: kind for name, kind, *_ in client.execute(f"DESCRIBE TABLE {TYPES}")}
    finally:
        client.execute(f"DROP TEMPORARY TABLE IF EXISTS {TYPES}")


def _statement(client: Client, database: str, name: str) -> str:
    [(statement,)] = client.execute(
        "SELECT create_table_query FROM system.tables WHERE database = %(database)s "
        "AND name = %(name)s",
        {"database": database, "name": name},
    )
    return as_text(statement)


def _mistakes(
    server: str,
    table: TableRules,
    wanted: tuple[StoreTable, ...],
    look: ServerTables,
    replicas: int,
) -> Iterator[ServerFinding]:
    if replicas > 1 and not look.traits.replica:
        text = (
            "has no ZooKeeper, or lacks the macros shard and replica: its tables would not be the "
            "others'; define them in its configuration"
        )
        yield ServerFinding(server, "", text)
        return
    for each in wanted:
        if each.name in look.found:
            for text in differences(
                each, look.found[each.name], look.types[each.name], look.traits
            ):
                yield ServerFinding(server, each.name, text)
    if table.name in look.found:
        for text in view_differences(look.found[table.name]):
            yield ServerFinding(server, table.name, text)


def _make(
    replica: Replica,
    database: str,
    table: TableRules,
    wanted: tuple[StoreTable, ...],
    look: ServerTables,
    result: TableCreation,
    *,
    is_dry: bool,
) -> None:
    missing = [each for each in wanted if each.name not in look.found]
    server = str(replica)
    result.present += [(server, each.name) for each in wanted if each.name in look.found]
    view = look.found.get(table.name)
    is_view_made = view is None or not is_current(
        view, table, look.types[wanted[0].name], look.name
    )
    if not is_view_made:
        result.present.append((server, table.name))
    if is_dry or result.mistakes:
        return
    name = table.name
    try:
        with replica.connected() as it:
            for each in missing:
                name = each.name
                it.client.execute(each.create(database, look.traits))
                result.made.append((server, name))
            name = table.name
            if is_view_made:
                # A view holds no rows. A query that finds none meanwhile fails, and is repeated.
                it.client.execute(f"DROP TABLE IF EXISTS {quoted(database, name)}")
                of = replica_name(it.client, database, wanted[0].name)
                select = settled_view(database, table, of)
                it.client.execute(f"CREATE VIEW {quoted(database, name)} AS {select}")
                result.made.append((server, name))
    except DRIVER_ERRORS as error:
        result.failures.append(ServerFinding(server, name, _reason(error, database)))


def _abandoned(store: ShardStore, wanted: tuple[StoreTable, ...]) -> Iterator[ServerFinding]:
    """Yields replicas in ZooKeeper that are none of the servers', and that no server holds.

    They are of tables that were lost with their disk: DROP TABLE takes its own away. Mutations that
    are done stay in ZooKeeper while such a one is there, and an ALTER waits for it.

    Raises the errors of the driver.
    """
    names: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for replica in store.replicas:
        with replica.connected() as it:
            for each in wanted:
                folder, _, name = replica_path(it.client, store.database, each.name).rpartition("/")
                names[each.name, folder].add(name)
    with store.replicas[0].connected() as it:
        for (table, folder), own in names.items():
            nodes = it.client.execute(NODES, {"path": folder}) if folder else []
            for name in sorted(each for (each,) in nodes if each not in own):
                path = f"{folder}/{name}"
                if ("is_active",) not in it.client.execute(NODES, {"path": path}):
                    text = (
                        f"has in ZooKeeper a replica {name} that no server holds: if its disk is "
                        f"lost, remove {path} there (`rmr` in zkCli.sh)"
                    )
                    yield ServerFinding(str(store.replicas[0]), table, text)


def _reason(error: Exception, database: str) -> str:
    text = reason_of(error).partition("\n")[0] or "does not answer"
    if code_of(error) == 81:
        return f"{text}; CREATE DATABASE {quoted(database)} there"
    return text
