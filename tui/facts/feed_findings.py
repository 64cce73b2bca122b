"""Findings of `sluice aggregate check`: conditions under which a feed cannot load, or not exactly
once. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aggregator.formats.avro_schema import UnsupportedSchema, avro_type
from aggregator.formats.proto_messages import NoMessage, ProtoMessages
from aggregator.loader.known_records import adding
from aggregator.store.schema_reader import TableFacts
from aggregator.tables.column_type import UnsupportedType, column_type
from aggregator.tables.table_schema import COORDINATES, OWN_COLUMNS, Column
from aggregator.tables.unrepeatable import unrepeatable
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed, Shard
from replicator.config.schema_folder import SchemaFolder

VERSION_MIN = (18, 16, 0)


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A finding about a server, a table or a topic.

    Args:
        is_mistake: the feed does not load, or may load a record twice, until it is mended. False
            for a remark.
    """

    where: str
    text: str
    is_mistake: bool = True


@dataclass(frozen=True, slots=True)
class FeedCheck:
    """Result of a check.

    Args:
        problems: servers that gave no answer.
    """

    feeds: tuple[str, ...]
    findings: tuple[Finding, ...]
    problems: tuple[str, ...]

    @property
    def mistakes(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.is_mistake)


@dataclass(frozen=True, slots=True)
class Replication:
    """Replication of a table, as one replica describes it in system.replicas."""

    path: str
    replica: str
    active_replicas: int
    is_readonly: bool


@dataclass(frozen=True, slots=True)
class ReplicaFacts:
    """Facts about one replica of a shard.

    Args:
        refused: by name of what was asked for, the reason of the refusal.
        replication: of the replicated tables.
    """

    address: str
    version: tuple[int, int, int]
    tables: Mapping[str, TableFacts] = field(default_factory=dict)
    replication: Mapping[str, Replication] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShardFacts:
    """Facts about one shard of a feed.

    Args:
        topics: partitions of each of its topics, in all clusters together; None if a cluster did
            not list its topics.
        replicas: those that answered.
        read: clusters and topics that are read, as far as clusters listed their topics.
    """

    feed: ClickHouseFeed
    number: int
    topics: Mapping[str, int] | None
    replicas: Sequence[ReplicaFacts]
    read: frozenset[tuple[ClusterName, str]] = frozenset()

    @property
    def shard(self) -> Shard:
        return self.feed.shards[self.number]

    @property
    def upsert_names(self) -> frozenset[str]:
        """Names in the database that upsert tables have for themselves."""
        return self.feed.upsert_names(self.number)

    @property
    def tables(self) -> tuple[str, ...]:
        """Tables that the feed loads into: those of its topics or, where records name them, those
        with coordinate columns."""
        if self.feed.table_from == "topic" and self.topics is not None:
            return tuple(sorted(self.topics))
        return tuple(name for name, facts in self._found if facts.schema.coordinates)

    @property
    def doubtful_tables(self) -> tuple[str, ...]:
        """Tables that the feed may load into, if records name them."""
        if self.feed.table_from == "topic":
            return ()
        return tuple(name for name, facts in self._found if not facts.schema.coordinates)

    @property
    def _found(self) -> list[tuple[str, TableFacts]]:
        """Tables that any replica has, without those of upsert tables. Records that name a view
        are rare, and views many."""
        found = {name: facts for each in self.replicas for name, facts in each.tables.items()}
        return sorted(
            (name, facts)
            for name, facts in found.items()
            if not facts.kind.is_view and name not in self.upsert_names
        )


def findings(facts: ShardFacts, outage_seconds: float) -> Iterator[Finding]:
    """Yields the findings about one shard.

    Args:
        outage_seconds: time after which a repeated block should still be recognized.
    """
    if facts.topics is not None and not facts.topics and not facts.upsert_names:
        where = f"feeds.{facts.feed.name}.shards[{facts.number}]"
        yield Finding(where, "no cluster has a topic that its patterns match", is_mistake=False)
    for replica in facts.replicas:
        if replica.version < VERSION_MIN:
            version, least = (".".join(map(str, each)) for each in (replica.version, VERSION_MIN))
            yield Finding(replica.address, f"ClickHouse {version} is older than {least}")
        for asked, reason in replica.refused.items():
            yield Finding(replica.address, f"{asked} is refused: {reason}")
    if doubtful := facts.doubtful_tables:
        text = f"tables without coordinate columns were not checked: {', '.join(doubtful)}"
        yield Finding(facts.shard.database, text, is_mistake=False)
    for table in facts.tables:
        yield from _of_table(table, facts, outage_seconds)


def _of_table(table: str, facts: ShardFacts, outage_seconds: float) -> Iterator[Finding]:
    where = f"{facts.shard.database}.{table}"
    having = [each for each in facts.replicas if table in each.tables]
    stops = facts.feed.dead_letters == "stop"
    effect = f"its records {'stop their partition' if stops else 'are set aside'}"
    if having:
        effect = "its rows are on the others only; create it"
    for replica in facts.replicas:
        if replica not in having:
            yield Finding(where, f"is missing on {replica.address}: {effect}")
    if not having:
        return
    first = having[0].tables[table]
    for replica in having[1:]:
        if replica.tables[table].schema.hash != first.schema.hash:
            yield Finding(
                where, f"has other columns on {replica.address} than on {having[0].address}"
            )
    several = [replica.tables[table] for replica in having]
    for one in {(each.engine, each.kind.refusal): each for each in several}.values():
        yield from _of_engine(where, one, facts)
    yield from _of_replication(where, table, having, facts.shard)
    for column in first.schema.columns:
        yield from _of_column(f"{where}.{column.name}", column)
    yield from _of_recognition(where, first, facts, outage_seconds)


def _of_engine(where: str, table: TableFacts, facts: ShardFacts) -> Iterator[Finding]:
    shard = facts.shard
    for remark in table.kind.remarks():
        yield Finding(where, remark, is_mistake=False)
    if refusal := table.kind.refusal:
        yield Finding(where, refusal)
    elif not table.schema.is_replicated:
        if len(shard.replicas) > 1:
            yield Finding(
                where,
                f"has the engine {table.engine}, which does not copy to the shard's other replicas",
            )
        elif shard.quorum:
            yield Finding(where, f"has the engine {table.engine}, which knows no quorum")
    elif len(shard.replicas) > 1 and not shard.quorum:
        yield Finding(
            where,
            "quorum is 0: a loaded block is lost if its replica is lost before "
            "others have copied it",
            is_mistake=False,
        )


def _of_replication(
    where: str, table: str, having: Sequence[ReplicaFacts], shard: Shard
) -> Iterator[Finding]:
    known = [(each, each.replication[table]) for each in having if table in each.replication]
    seen: dict[str, str] = {}
    for replica, found in known:
        if found.path != known[0][1].path:
            yield Finding(
                where,
                f"is another table on {replica.address} (ZooKeeper path "
                f"{found.path}) than on {known[0][0].address} ({known[0][1].path})",
            )
        elif found.replica in seen:
            yield Finding(where, f"{replica.address} and {seen[found.replica]} are one replica")
        seen.setdefault(found.replica, replica.address)
        if found.is_readonly:
            yield Finding(where, f"is read-only on {replica.address}: check its ZooKeeper")
        if shard.quorum > found.active_replicas:
            yield Finding(
                where,
                f"has {found.active_replicas} active replicas as "
                f"{replica.address} sees it; the quorum is {shard.quorum}",
            )


def _of_column(where: str, column: Column) -> Iterator[Finding]:
    if function := unrepeatable(column):
        yield Finding(
            where,
            f"its {column.default_kind} has another value each time a block is "
            f"inserted ({function}): a repeated block would be another one",
        )
    if column.default_kind in ("MATERIALIZED", "ALIAS"):
        return
    try:
        column_type(column.type)
    except UnsupportedType as error:
        yield Finding(where, str(error))
    wanted = OWN_COLUMNS.get(column.name)
    bare = column.type.removeprefix("LowCardinality(").removesuffix(")")
    if wanted and bare != wanted:
        yield Finding(where, f"has the type {column.type}; this coordinate is a {wanted}")


def _of_recognition(
    where: str, table: TableFacts, facts: ShardFacts, outage_seconds: float
) -> Iterator[Finding]:
    """Yields findings about how a repeated block is recognized."""
    schema = table.schema
    if schema.coordinates and not schema.has_coordinates:
        missing = ", ".join(name for name in COORDINATES if name not in schema.coordinates)
        yield Finding(where, f"lacks coordinate columns: {missing}")
    if not schema.deduplication_window and not schema.has_coordinates:
        columns = ", ".join(f"{name} {kind}" for name, kind in COORDINATES.items())
        yield Finding(where, f"has nothing by which a repeated block is recognized: add {columns}")
        return
    if table.partition_key and not schema.has_coordinates:
        yield Finding(
            where,
            "has partitions and no coordinate columns: of a block that an insert "
            "stored in part nobody can tell which part",
        )
    if schema.has_coordinates and not schema.has_incarnations:
        yield Finding(
            where,
            "cannot tell the rows of a topic from those of one that was created again under its "
            f"name; before that: {adding(facts.shard.database, schema)}",
            is_mistake=False,
        )
    yield from _of_window(where, table, facts, outage_seconds)


def _of_window(
    where: str, table: TableFacts, facts: ShardFacts, outage_seconds: float
) -> Iterator[Finding]:
    schema, feed = table.schema, facts.feed
    partitions = sum((facts.topics or {}).values())
    if feed.table_from == "topic":
        partitions = (facts.topics or {}).get(schema.table, 0)
    blocks_per_second = partitions / feed.block_seconds
    window = schema.deduplication_window
    needed = round(blocks_per_second * outage_seconds)
    if schema.is_replicated and 0 < window < needed:
        seconds = window / blocks_per_second
        instead = (
            "older blocks are recognized by their coordinates"
            if schema.has_coordinates
            else f"set replicated_deduplication_window = {needed}, or add coordinate columns"
        )
        yield Finding(
            where,
            f"recognizes {window} blocks, {seconds:.1f} s of {partitions} partitions with a block "
            f"every {feed.block_seconds:g} s; {instead}",
            is_mistake=not schema.has_coordinates,
        )
    limit = table.window_seconds
    if schema.is_replicated and limit is not None and limit < outage_seconds:
        yield Finding(
            where,
            f"forgets blocks after {limit} s (replicated_deduplication_window_seconds)",
            is_mistake=not schema.has_coordinates,
        )


def schema_findings(facts: ShardFacts) -> Iterator[Finding]:
    """Yields the findings about the schemas for the tables of one shard."""
    feed = facts.feed
    if feed.schemas is None:
        return
    if feed.format == "avro":
        yield from _of_avro(feed, feed.schemas)
    elif feed.format == "protobuf":
        yield from _of_protobuf(facts, feed.schemas)


def _of_avro(feed: ClickHouseFeed, folder: SchemaFolder) -> Iterator[Finding]:
    for name, text in folder.files.items():
        try:
            avro_type(text)
        except UnsupportedSchema as error:
            yield Finding(f"feeds.{feed.name}.schemas", f"{name}: {error}")


def _of_protobuf(facts: ShardFacts, folder: SchemaFolder) -> Iterator[Finding]:
    messages = ProtoMessages(folder)
    # Otherwise they are all tables of the database, which other feeds may load.
    is_loaded = facts.feed.table_from == "topic" and facts.topics is not None
    for table in facts.tables:
        try:
            messages.of_table(table)
        except NoMessage as error:
            where = f"{facts.shard.database}.{table}"
            yield Finding(where, str(error), is_mistake=is_loaded)
