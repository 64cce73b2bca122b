"""Settings of the [aggregator] table and of the [feeds.<name>] tables: topics into ClickHouse."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, product
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import re2
from pydantic import AfterValidator, BeforeValidator, Field, InstanceOf, model_validator

from replicator.config.balance_settings import ClickHouse
from replicator.config.cluster_name import ClusterName
from replicator.config.mistakes import raise_if_any
from replicator.config.names import OWN_PREFIX
from replicator.config.schema_folder import SUFFIXES, SchemaFolder, read_schemas
from replicator.config.security import ReadableFile, SecretFile
from replicator.config.settings import (
    BLOCK_ROWS_MAX,
    Float,
    Int,
    MetricsPort,
    OwnedPath,
    Patterns,
    Table,
    re2_options,
    start_of,
)
from replicator.config.topic_patterns import is_below, is_taken, may_meet
from replicator.config.upsert_table import UpsertTable

OWN_TOPIC_PREFIXES = ("__", OWN_PREFIX)
"""Topics that begin so are Kafka's or Sluice's own; no feed loads them."""
START_GROUP = "group:"
"""Beginning of a start that names a consumer group."""
FEED_NAME_CHARACTERS_MAX = 60
"""Longest name of a feed: it is part of group names and transactional ids."""


def cluster_name(value: Any) -> Any:
    if isinstance(value, ClusterName):
        return value
    return ClusterName(value if isinstance(value, str) else "")


def feed_start_of(value: Any) -> Any:
    """Returns the start of a feed: as `start_of` does, or a consumer group as it is."""
    if isinstance(value, str) and value.startswith(START_GROUP):
        if value == START_GROUP:
            raise ValueError('names no group; such a start is "group:connect-lake"')
        return value
    try:
        return start_of(value)
    except ValueError as error:
        text = f'{error}; or where a consumer group has stopped, "group:NAME"'
        raise ValueError(text) from None


FeedStart = Annotated[str | int, BeforeValidator(feed_start_of)]
ClusterNames = tuple[Annotated[InstanceOf[ClusterName], BeforeValidator(cluster_name)], ...]
Schemas = Annotated[InstanceOf[SchemaFolder], BeforeValidator(read_schemas)]


def some(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if not values:
        raise ValueError("is empty")
    return values


def named_tables(value: Any) -> Any:
    """Returns the tables of a feed with their names, which the file writes as keys."""
    if not isinstance(value, Mapping):
        return value
    return {
        name: {"name": name, **table} if isinstance(table, Mapping) else table
        for name, table in value.items()
    }


Tables = Annotated[dict[str, UpsertTable], BeforeValidator(named_tables)]


class AggregatorSettings(Table):
    """Settings of the [aggregator] table: how `sluice aggregate` and `sluice verify` work."""

    epoch_seconds: Annotated[Float, Field(ge=1, le=3600)] = 600.0
    """Length of a loader's epoch, which ends with receipts."""
    memory_mib: Annotated[Int, Field(ge=64, le=65536)] = 512
    """MiB that the records of one loader take in any form; fetching pauses until there is room."""
    inserts_at_once: Annotated[Int, Field(ge=1, le=64)] = 4
    """Inserts that one loader runs at the same time."""
    refresh_seconds: Annotated[Float, Field(ge=1, le=3600)] = 30.0
    """Interval of the search for new topics and partitions, and of the check of schemas."""
    skew_seconds: Annotated[Float, Field(ge=0.1, le=600)] = 10.0
    """Largest difference between the clocks of brokers, loaders and ClickHouse servers."""
    metrics_port: MetricsPort = 0
    """Metrics port of `sluice aggregate`, at metrics.address; 0 = off."""
    verifier_metrics_port: MetricsPort = 0
    """Metrics port of `sluice verify`, at metrics.address; 0 = off."""
    stale_seconds: Annotated[Float, Field(ge=1, le=604800)] = 600.0
    """Time without a renewed entry after which `sluice verify` reports a partition as stale."""
    upsert_dir: OwnedPath = Field(default=Path("upsert"), validate_default=True)
    """Directory of what Spark keeps of upsert tables: postings of ticks, states of keys. All hosts
    of Spark see it. Relative to the configuration file."""


class Shard(Table):
    """Table [[feeds.<name>.shards]]: topics of a shard, and the replicas that store them."""

    topics: Annotated[Patterns, AfterValidator(some)] = (".*",)
    """RE2 patterns of whole topic names. The first shard that matches a topic has it."""
    database: Annotated[str, Field(min_length=1, max_length=200)] = "default"
    replicas: Annotated[tuple[ClickHouse, ...], AfterValidator(some)]
    """Servers that hold the same data. A loader uses the first that works."""
    password_file: SecretFile | None = None
    ca_file: ReadableFile | None = None
    """PEM certificates that sign a clickhouses:// server's own."""
    quorum: Annotated[Int, Field(ge=0, le=32)] = 0
    """Replicas that must hold a block before it counts as loaded; 0 = the server that took it."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        raise_if_any(self._contradictions())
        return self

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        places = [(address.host, address.port) for address in self.replicas]
        if self.quorum > len(self.replicas):
            yield "quorum", f"must be the number of replicas ({len(self.replicas)}) or less"
        if len(set(places)) < len(places):
            yield "replicas", "lists a server twice"
        if any(address.database != "default" for address in self.replicas):
            yield "replicas", "names a database; the key database names that of all replicas"
        if self.ca_file and not any(address.is_tls for address in self.replicas):
            text = "has no meaning with clickhouse://; use clickhouses://, or remove it"
            yield "ca_file", text


class Feed(Table):
    """Feed: topics of one or several Kafka clusters into a store."""

    name: str
    """Name of the feed, from its table: [feeds.flights]."""
    kind: str
    """Kind of the store."""
    region: str
    """Region whose `sluice aggregate` loads the feed."""
    clusters: Annotated[ClusterNames, AfterValidator(some)]
    """Clusters to read: regional ones of several regions, or one aggregate."""
    start: FeedStart = "earliest"
    """Start of a partition that was never loaded before: earliest, latest, milliseconds since 1970
    (in the file: a date-time with zone), or "group:NAME", where that group's commits are."""
    dead_letters: Literal["topic", "stop"] = "topic"
    """Records that cannot be loaded: to the topic sluice.dead.<feed>, or stop the partition."""
    retry_seconds: Annotated[Float, Field(ge=0.01, le=60)] = 0.2
    """Pause before the same block is sent again; grows to retry_seconds_max."""
    retry_seconds_max: Annotated[Float, Field(ge=0.1, le=600)] = 10.0
    shards: tuple[Shard, ...] = ()
    """Shards of a feed into tables, each with topics of its own."""
    tables: Tables = Field(default_factory=dict)
    """Tables with settings of their own, by name: those that keep one row per key."""

    @property
    def key(self) -> str:
        """Key for ids: its name."""
        return self.name

    @property
    def start_group(self) -> str | None:
        """Consumer group at whose committed offsets the feed begins; None: it begins elsewhere."""
        is_group = isinstance(self.start, str) and self.start.startswith(START_GROUP)
        return str(self.start).removeprefix(START_GROUP) if is_group else None

    @property
    def patterns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Patterns of the topics that belong to the feed, and of those that do not all the same."""
        taken = tuple(pattern for shard in self.shards for pattern in shard.topics)
        return taken, tuple(each for table in self.upsert_tables for each in table.patterns)

    def takes(self, topic: str) -> bool:
        """Returns True if the feed's loaders load a topic; those of upsert tables they do not."""
        return self.shard_number(topic) is not None

    @property
    def upsert_tables(self) -> tuple[UpsertTable, ...]:
        """Tables that keep one row per key."""
        return tuple(table for table in self.tables.values() if table.is_upsert)

    def upsert_table(self, topic: str) -> UpsertTable | None:
        """Returns the upsert table that a topic goes to, the first that takes it; None if it goes
        to none."""
        if topic.startswith(OWN_TOPIC_PREFIXES):
            return None
        return next((table for table in self.upsert_tables if table.takes(topic)), None)

    def keeps(self, table: UpsertTable, topic: str) -> bool:
        """Returns True if a topic goes to an upsert table, and not to another one before it."""
        found = self.upsert_table(topic)
        return found is not None and found.name == table.name

    def shard_number(self, topic: str) -> int | None:
        """Returns the number of the shard that a topic goes to; None if no loader of the feed loads
        it."""
        if topic.startswith(OWN_TOPIC_PREFIXES) or self.upsert_table(topic) is not None:
            return None
        options = re2_options()
        for number, shard in enumerate(self.shards):
            if any(re2.fullmatch(pattern, topic, options) for pattern in shard.topics):
                return number
        return None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        raise_if_any(self._contradictions())
        return self

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        if self.retry_seconds > self.retry_seconds_max:
            yield "retry_seconds", f"must be retry_seconds_max ({self.retry_seconds_max:g}) or less"


class ClickHouseFeed(Feed):
    """Feed into tables of ClickHouse."""

    kind: Literal["clickhouse"] = "clickhouse"
    format: Literal["json", "avro", "protobuf", "row_batches"] = "json"
    schemas: Schemas | None = None
    """Folder of Avro schemas (<id>.avsc, <table>.avsc), or of .proto files; read at the start."""
    table_from: Literal["topic", "header"] = "topic"
    """Place of a record's table name: its topic, or the header named by `header`."""
    header: Annotated[str, Field(min_length=1)] = "table"
    block_mib: Annotated[Float, Field(ge=0.01, le=1024)] = 10.0
    """A block is loaded once its records reach so many MiB ..."""
    block_rows: Annotated[Int, Field(ge=1, le=BLOCK_ROWS_MAX)] = BLOCK_ROWS_MAX
    """... or so many rows ..."""
    block_seconds: Annotated[Float, Field(ge=0.01, le=3600)] = 1.0
    """... or its first record was read so long ago."""
    reference_seconds: Annotated[Float, Field(ge=1, le=86400)] = 60.0
    """Interval at which all blocks of a partition are loaded at once, so that a gap shows."""
    insert_timeout_seconds: Annotated[Float, Field(ge=1, le=3600)] = 60.0
    shards: Annotated[tuple[Shard, ...], AfterValidator(some)]
    """Shards, each with topics of its own."""

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        yield from super()._contradictions()
        if self.block_seconds >= self.reference_seconds:
            yield "block_seconds", f"must be below reference_seconds ({self.reference_seconds:g})"
        if self.format in SUFFIXES and self.schemas is None:
            yield "schemas", f"is missing; format {self.format!r} needs it"
        if self.format not in SUFFIXES and self.schemas is not None:
            yield "schemas", f"has no meaning with format {self.format!r}; remove it"
        yield from self._table_contradictions()

    def shard_number_of(self, table: UpsertTable) -> int:
        """Returns the number of the shard that keeps an upsert table."""
        return min(self._shards_that_may_have(table.patterns))

    def upsert_names(self, shard: int) -> frozenset[str]:
        """Returns the names in a shard's database that upsert tables have for themselves."""
        own = [each for each in self.upsert_tables if self.shard_number_of(each) == shard]
        return frozenset(name for table in own for name in table.store_names)

    def shard_of_table(self, table: UpsertTable) -> Shard:
        """Returns the shard that keeps an upsert table."""
        return self.shards[self.shard_number_of(table)]

    def home_of(self, table: UpsertTable) -> ClusterName:
        """Returns the cluster that keeps the ticks of an upsert table."""
        return self.clusters[0] if table.home is None else ClusterName(table.home)

    def _shards_that_may_have(self, patterns: Iterable[str]) -> set[int]:
        """Returns the shards to which topics of the patterns may go."""
        found: set[int] = set()
        for pattern in patterns:
            for number, shard in enumerate(self.shards):
                if any(may_meet(pattern, each) for each in shard.topics):
                    found.add(number)
                if any(is_below(pattern, each) for each in shard.topics):
                    break
        return found

    def _table_contradictions(self) -> Iterator[tuple[str, str]]:
        for key, table in self.tables.items():
            where = f"tables.{key}"
            if table.name != key:
                yield where, f"the table's name is {table.name!r}"
            for name, text in table.contradictions():
                yield f"{where}.{name}" if name else where, text
        for table in self.upsert_tables:
            for name, text in (*self._in_feed(table), *self._in_shard(table)):
                yield f"tables.{table.name}.{name}", text
        for one, other in combinations(self.upsert_tables, 2):
            for taken, pattern in product(one.patterns, other.patterns):
                if is_taken(pattern, taken) or is_taken(taken, pattern):
                    text = (
                        f"tables.{one.name} has the topics of {taken!r}, and {pattern!r} meets it"
                    )
                    yield f"tables.{other.name}.topics", f"{text}: a topic is of one table"

    def _in_feed(self, table: UpsertTable) -> Iterator[tuple[str, str]]:
        """Yields what is wrong between an upsert table and the settings of its feed."""
        if table.home is not None and table.home not in self.clusters:
            known = ", ".join(self.clusters)
            yield "home", f"{table.home!r} is no cluster of the feed; it reads {known}"
        if self.table_from != "topic":
            text = 'upsert tables take whole topics, and table_from = "header" shares them out: '
            yield "semantic", text + "move the table to a feed of its own"
        if self.start != "earliest":
            text = "an upsert table has all records of its topics: it needs start"
            yield "semantic", f'{text} = "earliest"; move the table to a feed of its own'
        if self.dead_letters != "topic":
            text = "a tick does not stop at a record: it needs dead_letters"
            yield "semantic", f'{text} = "topic"; move the table to a feed of its own'
        if table.empty_value_deletes and len(table.primary_key) > 1 and self.format != "json":
            text = "a Kafka key names several columns only as a JSON object, so "
            yield (
                "empty_value_deletes",
                text + 'it needs format = "json"; set delete_column instead',
            )

        is_bare = table.empty_value_deletes and self.format != "json"
        if is_bare and table.newest_column is not None and not table.newest_is_time:
            text = f"a record with an empty value has no {table.newest_column}, so that it is "
            yield "empty_value_deletes", text + "never the newest; set delete_column instead"

    def _in_shard(self, table: UpsertTable) -> Iterator[tuple[str, str]]:
        """Yields what is wrong between an upsert table and the shards of its feed."""
        for pattern in table.patterns:
            if pattern.replace("\\", "").startswith(OWN_TOPIC_PREFIXES):
                yield "topics", f"{pattern!r} means topics of Kafka or Sluice, which no feed loads"
            elif not self._shards_that_may_have([pattern]):
                text = f"no shard has the topic {pattern!r}; add it to the topics of one"
                yield "topics", text
        numbers = sorted(self._shards_that_may_have(table.patterns))
        if len(numbers) > 1:
            listed = " and ".join(f"shards[{number}]" for number in numbers)
            yield "topics", f"may go to {listed}, and an upsert table is in one: name others"
        for number in numbers:
            shard = self.shards[number]
            if len(shard.replicas) > 1 and shard.quorum < 2:
                text = (
                    f"shards[{number}] has several replicas, and quorum = {shard.quorum}: queries "
                )
                yield "semantic", text + "of an upsert table need quorum = 2 or more there"
