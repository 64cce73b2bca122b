"""Questions that the product asks a server, recognized by the product's own texts, with answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clickhouse_driver.errors import ServerException

from aggregator.loader import known_records
from aggregator.store import (
    block_memory,
    block_name,
    recognition,
    schema_reader,
    server_features,
    stored_offsets,
)
from aggregator.store import shard_store as part_counts
from tests.world.sinks.keeper import TABLE_ZXID, Identity, KeptTable, Part
from tests.world.virtual_loop import EPOCH

if TYPE_CHECKING:
    from tests.world.sinks.server import Server

Answer = list[tuple[Any, ...]]
Parameters = Mapping[str, Any]
ENGINE = "ReplicatedMergeTree"
ROWS = block_name.ROWS.partition("{table}")[0]
ENDS = stored_offsets.ENDS.partition("{table}")[0]
ENDS_BY_LOG = stored_offsets.ENDS_BY_LOG.partition("{table}")[0]
ANY_ROW = known_records.ANY_ROW.partition("{table}")[0]
LOG, BLOCKS, PARTS = "/log", "/blocks", "/parts"
OLD_BY_CLOCK = "SELECT name FROM system.parts WHERE modification_time < %(before_s)s"
"""Question of a mutation: the product asks no server for a time."""
FULL_PARTS, FEW_PARTS = 300, 10


def answered(server: Server, query: str, parameters: Parameters) -> Answer:
    """Returns the answer as rows. Raises ServerException."""
    if query.startswith(ROWS):
        return _rows(server, query, parameters)
    if query.startswith(schema_reader.COLUMNS):
        return _columns(server, parameters)
    if query.startswith((ENDS, ENDS_BY_LOG)):
        return _ends(server, query, parameters)
    if query.startswith(ANY_ROW):
        return _any_row(server, query, parameters)
    return ANSWERS[query](server, parameters)


def columnar(rows: Answer) -> list[tuple[Any, ...]]:
    """Returns an answer by columns; nothing if it has no rows, as the driver does."""
    return list(zip(*rows, strict=True))


def _features(server: Server, parameters: Parameters) -> Answer:
    return [(name,) for name in parameters["names"] if name in server.settings]


def _system_tables(server: Server, parameters: Parameters) -> Answer:
    return [("parts",), ("merge_tree_settings",)]


def _windows(server: Server, parameters: Parameters) -> Answer:
    table = next(iter(server.keeper.tables.values()))
    return [
        (schema_reader.WINDOW, str(table.window)),
        (f"{schema_reader.WINDOW}_seconds", str(round(table.window_seconds))),
    ]


def _columns(server: Server, parameters: Parameters) -> Answer:
    return [(table.name, *column) for table in server.tables for column in table.columns]


def _tables(server: Server, parameters: Parameters) -> Answer:
    clauses = f"{ENGINE}('/table', 'r')"
    return [(it.name, ENGINE, clauses, "", (), "tuple()") for it in server.tables]


def _sizes(server: Server, parameters: Parameters) -> Answer:
    sizes = {name: sum(len(it.rows) for it in parts) for name, parts in server.parts.items()}
    return [(name, rows) for name, rows in sizes.items() if rows]


def _engines(server: Server, parameters: Parameters) -> Answer:
    return [(it.name, f"{ENGINE}('/table', 'r')") for it in server.tables]


def _stored_rows(server: Server, query: str, parameters: Parameters) -> Iterator[Identity]:
    name = query.split("`")[3]
    server.check_table(name)
    for part in server.parts[name]:
        for row in part.rows:
            if row.cluster == parameters["cluster"]:
                yield row.identity


def _ends(server: Server, query: str, parameters: Parameters) -> Answer:
    ends: dict[tuple[str, int, int], int] = {}
    for row in _stored_rows(server, query, parameters):
        if row.topic in parameters["topics"]:
            log = row.topic, row.partition, row.incarnation
            ends[log] = max(row.offset + 1, ends.get(log, 0))
    width = 4 if query.startswith(ENDS_BY_LOG) else 3
    return [(topic, number, end, log)[:width] for (topic, number, log), end in ends.items()]


def _any_row(server: Server, query: str, parameters: Parameters) -> Answer:
    place = parameters["topic"], parameters["partition"]
    found = _stored_rows(server, query, parameters)
    later = parameters["incarnation"] if known_records.OR_LATER in query else math.inf
    is_there = any(
        (it.topic, it.partition) == place
        and (it.offset >= parameters["offset"] or it.incarnation > later)
        for it in found
    )
    return [(1,)] if is_there else []


def _most_parts(server: Server, parameters: Parameters) -> Answer:
    is_full = server.keeper.tables[parameters["table"]].is_full
    return [(FULL_PARTS if is_full else FEW_PARTS,)]


def _path(server: Server, parameters: Parameters) -> Answer:
    return [] if server.lacks_tables else [(f"/{parameters['table']}",)]


def _blocks(server: Server, parameters: Parameters) -> Answer:
    blocks = _table_at(server, parameters, BLOCKS).blocks.values()
    oldest = min((it.zxid for it in blocks), default=0)
    return [(len(blocks), oldest, int(max((it.at for it in blocks), default=0.0)))]


def _hashes(server: Server, parameters: Parameters) -> Answer:
    return [(TABLE_ZXID, _table_at(server, parameters, "").changed_zxid, 0)]


def _entries(server: Server, parameters: Parameters) -> Answer:
    return [(len(_table_at(server, parameters, LOG).log),)]


def _replica_path(server: Server, parameters: Parameters) -> Answer:
    if server.lacks_tables:
        return []
    return [(f"/{parameters['table']}/replicas/{server.replica_name}",)]


def _known_parts(server: Server, parameters: Parameters) -> Answer:
    table = _table_at(server, parameters, f"/replicas/{server.replica_name}{PARTS}")
    known = (it.name for it in table.log if server.name in server.keeper.holders[it])
    return [(name,) for name in known if name in parameters["parts"]]


def _table_at(server: Server, parameters: Parameters, below: str) -> KeptTable:
    if not server.has_session:
        raise ServerException("Session with ZooKeeper expired", 999)
    return server.keeper.tables[parameters["path"].removesuffix(below).removeprefix("/")]


def _old_parts(server: Server, parameters: Parameters) -> Answer:
    table = _table_at(server, parameters, f"/replicas/{server.replica_name}{PARTS}")
    since, zxid = server.keeper.known_since, parameters["zxid"]
    parts = server.parts[table.name]
    old = [it for it in parts if since.get((server.name, it), zxid + 1) <= zxid]
    old.sort(key=lambda it: -len(it.rows))
    return [(it.name,) for it in old[: parameters["most"]]]


def _old_by_clock(server: Server, parameters: Parameters) -> Answer:
    came = server.parts[parameters["table"]]
    before = parameters["before_s"] - EPOCH
    return [(it.name,) for it, at in came.items() if at < before]


def _rows(server: Server, query: str, parameters: Parameters) -> Answer:
    table = query.split("`")[3]
    server.check_table(table)
    old = frozenset(parameters.get("old", ()))
    found: Answer = []
    for part in server.parts[table]:
        rows = list(_of_range(part, parameters)) if part.name not in old else []
        if rows:
            offsets, numbers = zip(*((it.offset, it.row) for it in rows), strict=True)
            found.append((part.name, offsets, numbers))
    return found


def _of_range(part: Part, parameters: Parameters) -> Iterator[Identity]:
    place = parameters["topic"], parameters["partition"]
    for row in part.rows:
        it = row.identity
        is_there = (it.topic, it.partition) == place and row.cluster == parameters["cluster"]
        is_of_log = it.incarnation == parameters.get("incarnation", it.incarnation)
        if is_there and is_of_log and parameters["begin"] <= it.offset < parameters["end"]:
            yield it


def _running(server: Server, parameters: Parameters) -> Answer:
    name = parameters["name"]
    return [(sum(it == name or it.startswith(f"{name}-rest-") for it in server.running),)]


def _replica(server: Server, parameters: Parameters) -> Answer:
    name = parameters["table"]
    if server.lacks_tables:
        return []
    pointer, queue = server.pointers[name], server.queues[name]
    if not server.has_session:
        return [(len(queue), 0, 0, 1, f"/{name}")]
    last = max(0, len(server.keeper.tables[name].log) - 1)
    return [(len(queue), pointer, last, 0, f"/{name}")]


ANSWERS: Mapping[str, Callable[[Server, Parameters], Answer]] = {
    server_features.SETTINGS: _features,
    server_features.TABLES: _system_tables,
    schema_reader.HAS_POSITION: lambda *_: [(1,)],
    schema_reader.TABLES: _tables,
    schema_reader.WINDOWS.format(table="merge_tree_settings"): _windows,
    stored_offsets.ROWS: _sizes,
    stored_offsets.ENGINES: _engines,
    part_counts.MOST: _most_parts,
    block_memory.PATH: _path,
    block_memory.BLOCKS: _blocks,
    block_memory.HASHES: _hashes,
    recognition.OLD_PARTS: _old_parts,
    OLD_BY_CLOCK: _old_by_clock,
    recognition.RUNNING: _running,
    recognition.REPLICA: _replica,
    recognition.ENTRIES: _entries,
    recognition.REPLICA_PATH: _replica_path,
    recognition.KNOWN_PARTS: _known_parts,
}
