"""Questions about a server and its parts that the keeper of an upsert table asks, with answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from aggregator.store import recognition, schema_reader, shard_store
from aggregator.upsert import (
    expired_days,
    query_session,
    server_levels,
    settling,
    tick_clock,
)
from aggregator.upsert.upsert_schema import ROWS_PARTITION
from tests.world.sinks import questions as of_sinks
from tests.world.upserts.stored import ROWS
from tests.world.virtual_loop import EPOCH

if TYPE_CHECKING:
    from tests.world.upserts.server import UpsertServer

Answer = list[tuple[Any, ...]]
Parameters = Mapping[str, Any]
NEVER_ENDING = 1 << 63


def _partitions(server: UpsertServer, _: Parameters) -> Answer:
    numbers: Any = server.keeper.numbers
    last: dict[int, Any] = {}
    for part in sorted(server.parts[ROWS], key=lambda it: numbers.get(it, NEVER_ENDING)):
        rows: Any = part.rows
        last[rows[0].day] = part
    return [(part.name,) for part in last.values()]


def _made(server: UpsertServer, parameters: Parameters) -> Answer:
    uptime = int(server.loop.time() - server.started_at)
    return [(uptime, int(server.made_at), 0 if server.lacks_tables else 2)]


def _session(server: UpsertServer, parameters: Parameters) -> Answer:
    settings = {query_session.READONLY: "0", "select_sequential_consistency": "0"}
    engines = [it.name for it in server.tables if it.name in parameters["of"]]
    return [
        *(("setting", name, value) for name, value in settings.items()),
        *(("engine", name, of_sinks.ENGINE) for name in engines),
    ]


def _session_replicas(server: UpsertServer, parameters: Parameters) -> Answer:
    queue_of = of_sinks.ANSWERS[recognition.REPLICA]
    return [
        (it.name, server.replica_name, *queue)
        for it in server.tables
        if it.name in parameters["of"]
        for queue in queue_of(server, {**parameters, "table": it.name})
    ]


def uncommitted(server: UpsertServer, table: str) -> int:
    """Returns how many parts of a table a server shows that ZooKeeper does not know."""
    known = server.keeper.holders
    return sum(server.name not in known.get(it, ()) for it in server.parts[table])


def _uncommitted(server: UpsertServer, parameters: Parameters) -> Answer:
    return [(uncommitted(server, parameters["table"]),)]


def _schemas(server: UpsertServer, parameters: Parameters) -> Answer:
    clauses = f"{of_sinks.ENGINE}('/table', 'r')"
    return [
        (
            it.name,
            of_sinks.ENGINE,
            clauses,
            "",
            (),
            ROWS_PARTITION if it.name == ROWS else "",
        )
        for it in server.tables
    ]


def _partition_names(server: UpsertServer, parameters: Parameters) -> Answer:
    parts: Any = server.parts[parameters["table"]]
    return [(str(each),) for each in sorted({it.rows[0].partition for it in parts})]


def _leads(server: UpsertServer, parameters: Parameters) -> Answer:
    """Answers whether it has a table and leads it: the first server with a session does."""
    is_leader = server.name == min(server.keeper.sessions, default="")
    return [(0 if server.lacks_tables else 1, int(is_leader))]


ANSWERS: Mapping[str, Callable[[Any, Parameters], Answer]] = {
    server_levels.MADE: _made,
    tick_clock.SERVER_TIME: lambda server, _: [(int(EPOCH + server.loop.time()),)],
    settling.UNFINISHED: lambda server, _: [(len(server.parts_to_do()),)],
    settling.TO_DO: lambda server, _: [(max(server.parts_to_do(), default=0),)],
    settling.LAST_PARTS: _partitions,
    expired_days.PARTITIONS: _partition_names,
    shard_store.LEADS: _leads,
    query_session.BEGIN: _session,
    recognition.UNCOMMITTED: _uncommitted,
    query_session.REPLICAS: _session_replicas,
    schema_reader.TABLES: _schemas,
    recognition.REPLICA: of_sinks.ANSWERS[recognition.REPLICA],
}
