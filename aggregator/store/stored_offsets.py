"""Stored offsets: how far the tables of a shard hold the rows of partitions, on every replica.

A table that shows no row of a partition proves that none was loaded only if it loses none: every
replica answers, the table has other rows and no TTL, and its columns name the partition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from clickhouse_driver import Client

from aggregator.intents.stored import Stored
from aggregator.store.identifier import quoted
from aggregator.store.replica import Replica
from aggregator.store.schema_reader import TableFacts, as_text, read_tables
from aggregator.store.shard_store import DRIVER_ERRORS, ShardStore
from aggregator.tables.table_schema import INCARNATION, TableSchema
from balancer.topic_partition import TopicPartition
from replicator.runtime.error_text import error_text

COORDINATES = frozenset({"_cluster", "_topic", "_partition", "_offset"})
TOPICS_PER_QUERY = 500
ROWS = """
SELECT table, sum(rows) FROM system.parts WHERE database = %(database)s AND active GROUP BY table
"""
ENGINES = "SELECT name, engine_full FROM system.tables WHERE database = %(database)s"
ENDS = """
SELECT _topic, _partition, toInt64(max(_offset)) + 1 FROM {table}
WHERE _cluster = %(cluster)s AND _topic IN %(topics)s GROUP BY _topic, _partition
"""
ENDS_BY_LOG = f"""
SELECT _topic, _partition, toInt64(max(_offset)) + 1, {INCARNATION} FROM {{table}}
WHERE _cluster = %(cluster)s AND _topic IN %(topics)s GROUP BY _topic, _partition, {INCARNATION}
"""


@dataclass(frozen=True, slots=True)
class TableSight:
    """A table on one replica, as far as it tells what was loaded into it.

    Args:
        flaw: why a missing row proves nothing; empty if it does.
        ends: behind the last row of each partition that has any.
        by_log: the same by the incarnations of its logs; empty where the table does not tell them
            apart: all rows are of the first one.
    """

    flaw: str = ""
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    by_log: Mapping[TopicPartition, Mapping[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReplicaLook:
    """Tables of one replica.

    Args:
        name: of the replica.
        failure: why it did not answer; empty if it did.
        tables: those that were asked for and are there.
    """

    name: str
    failure: str = ""
    tables: Mapping[str, TableSight] = field(default_factory=dict)


def stored_in_shard(
    store: ShardStore, cluster: str, places: Collection[TopicPartition], *, is_by_topic: bool
) -> dict[TopicPartition, Stored]:
    """Returns what a shard has of partitions. Blocking; raises nothing.

    Args:
        is_by_topic: a topic's rows are in the table of its name; otherwise in any.
    """
    topics = sorted({place.topic for place in places})
    looks = [_look(store, replica, cluster, topics, is_by_topic) for replica in store.replicas]
    return {place: judged(place, looks, is_by_topic=is_by_topic) for place in places}


def judged(place: TopicPartition, looks: Sequence[ReplicaLook], *, is_by_topic: bool) -> Stored:
    """Returns what the replicas have of a partition, and whether that is all there can be."""
    names = {name for look in looks for name in look.tables}
    tables = {place.topic} if is_by_topic else names
    by_table: dict[str, dict[int, int]] = {}
    for look in looks:
        for name, sight in look.tables.items():
            if name in tables and place in sight.ends:
                of_logs = sight.by_log.get(place) or {0: sight.ends[place]}
                by_table[name] = _greater(by_table.get(name, {}), of_logs)
    nothing: dict[int, int] = {}
    ends = reduce(_greater, by_table.values(), nothing)
    doubt, is_passing = _doubt(tables, looks)
    return Stored(max(ends.values(), default=None), doubt, is_passing, ends, by_table)


def _greater(ends: dict[int, int], others: Mapping[int, int]) -> dict[int, int]:
    """Returns the greater end of each log."""
    return {log: max(ends.get(log, 0), others.get(log, 0)) for log in {*ends, *others}}


def _doubt(tables: Collection[str], looks: Iterable[ReplicaLook]) -> tuple[str, bool]:
    """Returns why rows that no replica shows may have been loaded, and whether that passes."""
    missing = "there is no table" if not tables else ""
    for look in looks:
        if look.failure:
            return f"{look.name} does not answer ({look.failure})", True
    for name in sorted(tables):
        for look in looks:
            sight = look.tables.get(name)
            if sight is None:
                missing = missing or f"{look.name} has no table {name}"
            elif sight.flaw:
                return f"table {name} {sight.flaw}", False
    return missing, False


def tables_to_ask(
    found: Mapping[str, TableFacts], topics: Collection[str] | None
) -> dict[str, TableFacts]:
    """Returns the tables that may hold rows of a feed: those of its topics, or all (None).

    No feed loads a view: whatever it shows is in tables, or was not loaded.
    """
    return {
        name: facts
        for name, facts in found.items()
        if not facts.kind.is_view and (topics is None or name in topics)
    }


def _look(
    store: ShardStore, replica: Replica, cluster: str, topics: Sequence[str], is_by_topic: bool
) -> ReplicaLook:
    try:
        with replica.connected() as it:
            found = read_tables(it.client, store.database, it.features)
            database = {"database": store.database}
            rows = dict(it.client.execute(ROWS, database))
            engines = dict(it.client.execute(ENGINES, database))
            asked = tables_to_ask(found, topics if is_by_topic else None)
            return ReplicaLook(
                str(replica),
                tables={
                    name: _sight(
                        it.client,
                        quoted(store.database, name),
                        cluster,
                        [name] if is_by_topic else topics,
                        schema=facts.schema,
                        rows=rows.get(name, 0),
                        engine=as_text(engines.get(name, "")),
                    )
                    for name, facts in asked.items()
                },
            )
    except DRIVER_ERRORS as error:
        return ReplicaLook(str(replica), error_text(error).partition("\n")[0][:60] or "no answer")


def _sight(
    client: Client,
    table: str,
    cluster: str,
    topics: Sequence[str],
    *,
    schema: TableSchema,
    rows: int,
    engine: str,
) -> TableSight:
    types = {column.name: column.type for column in schema.columns}
    if lacking := sorted(COORDINATES - types.keys()):
        return TableSight(f"lacks {', '.join(lacking)}")
    # Another application's, perhaps: what it cannot compare would fail the look at all tables.
    if others := [name for name in ("_offset", "_partition") if "Int" not in types[name]]:
        return TableSight(f"has {others[0]} as {types[others[0]]}")
    is_counted = "MergeTree" in engine
    if is_counted and not rows:
        return TableSight("is empty")
    by_log: dict[TopicPartition, dict[int, int]] = {}
    # A column of another type is no name of a log.
    query = ENDS_BY_LOG if schema.has_incarnations else ENDS
    query = query.format(table=table.replace("%", "%%"))
    for begin in range(0, len(topics), TOPICS_PER_QUERY):
        some = tuple(topics[begin : begin + TOPICS_PER_QUERY])
        for row in client.execute(query, {"cluster": cluster, "topics": some}):
            topic, partition, end, *log = row
            if end is None or partition is None:
                continue  # rows of others, whose coordinates are NULL
            by_log.setdefault(TopicPartition(topic, partition), {})[log[0] if log else 0] = end
    ends = {place: max(each.values()) for place, each in by_log.items()}
    if not is_counted:
        return TableSight("keeps its rows elsewhere", ends, by_log)
    return TableSight("has a TTL" if " TTL " in engine else "", ends, by_log)
