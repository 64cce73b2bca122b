"""Known records: what the store of a feed has of a partition, and whether it tells two logs of it
apart. Asked where an operator lets a partition go on in a log that may be another one. Blocking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from clickhouse_driver import Client

from aggregator.objects.told_objects import ToldObjects
from aggregator.s3.object_listing import told_objects
from aggregator.store.identifier import quoted
from aggregator.store.replica import Connected, Replica
from aggregator.store.schema_reader import read_schemas
from aggregator.store.shard_store import DRIVER_ERRORS, ShardStore, StoreTimeouts
from aggregator.tables.table_schema import INCARNATION, INCARNATION_TYPE, TableSchema
from balancer.topic_partition import TopicPartition
from replicator.clickhouse.errors import reason
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed, Feed
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.tail.topic_tailer import LogUnreadable

T = TypeVar("T")
ANY_ROW = """
SELECT 1 FROM {table} WHERE _cluster = %(cluster)s AND _topic = %(topic)s
AND _partition = %(partition)s AND (_offset >= %(offset)s{or_later}) LIMIT 1
"""
OR_LATER = f" OR {INCARNATION} > %(incarnation)s"


class CannotTellApart(Exception):
    """The records of two logs cannot be told apart. The message has the mend."""


class KnownRecords(Protocol):
    """Records that the store of a feed has."""

    def has_any(self, partition: TopicPartition, offset: int, incarnation: int = 0) -> bool:
        """Returns True if the store has records of a partition from an offset on, of whatever log,
        or of a later log than the one with this incarnation.

        Raises CannotTellApart if that is not known.
        """

    def check_names(self, partition: TopicPartition) -> None:
        """Raises CannotTellApart if new records of a partition cannot be told from former ones."""

    def close(self) -> None:
        """Ends the connections."""


class NothingKnown:
    """Store that is not asked. Only a log that is known to be another one is named anew."""

    def has_any(self, partition: TopicPartition, offset: int, incarnation: int = 0) -> bool:
        return False

    def check_names(self, partition: TopicPartition) -> None:
        """Finds nothing."""

    def close(self) -> None:
        """Ends nothing."""


def known_records(
    appliance: Appliance, feed: Feed, cluster: ClusterName, timeout_seconds: float
) -> KnownRecords:
    """Returns the records that the store of a feed has of a cluster's topics."""
    if isinstance(feed, ClickHouseFeed):
        return TableRecords(feed, cluster, timeout_seconds)
    assert isinstance(feed, ObjectFeed)
    return ToldRecords(appliance, feed, cluster, timeout_seconds)


@dataclass(frozen=True, slots=True)
class ToldRecords:
    """Records in the objects that a feed has told of. Each name shows the log.

    Args:
        read: returns what the topic of objects tells.
    """

    appliance: Appliance
    feed: ObjectFeed
    cluster: ClusterName
    timeout_seconds: float
    read: Callable[..., ToldObjects] = told_objects

    def has_any(self, partition: TopicPartition, offset: int, incarnation: int = 0) -> bool:
        settings = self.appliance.cluster(self.cluster)
        try:
            told = self.read(
                self.cluster, settings, self.feed.name, self.timeout_seconds, are_all_needed=True
            )
        except (AdminError, LogUnreadable) as error:
            raise CannotTellApart(f"it is not known what is in objects: {error}") from error
        return any(
            (each.topic, each.partition) == partition
            and (each.end > offset or each.incarnation > incarnation)
            for each in told.objects
        ) or any(
            each.end > offset or each.log.incarnation > incarnation
            for each in told.forgotten_of(*partition)
        )

    def check_names(self, partition: TopicPartition) -> None:
        """Finds nothing."""

    def close(self) -> None:
        """Ends nothing: each request has its own connection."""


@dataclass(slots=True)
class TableRecords:
    """Rows in the tables of a feed.

    Args:
        make_store: makes the store of a shard.
        read: returns the schemas of a database's tables.
    """

    feed: ClickHouseFeed
    cluster: ClusterName
    timeout_seconds: float
    make_store: Callable[..., ShardStore] = ShardStore
    read: Callable[[Client, str], Mapping[str, TableSchema]] = read_schemas
    _stores: dict[int, ShardStore] = field(init=False, default_factory=dict)

    def close(self) -> None:
        for store in self._stores.values():
            store.close()

    def has_any(self, partition: TopicPartition, offset: int, incarnation: int = 0) -> bool:
        store = self._store(partition.topic)
        where = {
            "cluster": self.cluster,
            **partition._asdict(),
            "offset": offset,
            "incarnation": incarnation,
        }

        def rows(it: Connected) -> bool:
            return any(
                it.client.execute(_any_row(store.database, table, schema), where)
                for table, schema in self._schemas(it, store.database, partition.topic)
                if schema.has_coordinates
            )

        found = [(replica, _asked(replica, rows)) for replica in store.replicas]
        if any(answer is True for _, answer in found):
            return True
        silent = [f"{replica}: {answer}" for replica, answer in found if answer is not False]
        if silent:
            raise CannotTellApart(
                "its intent is gone, and a replica that may have its rows gives no answer: "
                f"{'; '.join(silent)}"
            )
        return False

    def check_names(self, partition: TopicPartition) -> None:
        store = self._store(partition.topic)
        lacking: dict[str, list[Replica]] = {}
        silent: list[str] = []
        for replica in store.replicas:
            found = _asked(replica, lambda it: self._lacking(it, store.database, partition.topic))
            if isinstance(found, str):
                silent.append(f"{replica}: {found}")
                continue
            for statement in found:
                lacking.setdefault(statement, []).append(replica)
        if len(silent) == len(store.replicas):
            raise CannotTellApart(f"no replica tells the columns of its tables: {silent[0]}")
        if lacking:
            # The others get the change of a replicated table from the first.
            on = ", ".join(dict.fromkeys(str(some[0]) for some in lacking.values()))
            raise CannotTellApart(
                "its log is another one by now, and its table cannot tell the rows of the two "
                f"apart; run {'; '.join(lacking)} on {on}, and accept the loss again"
            )

    def _lacking(self, it: Connected, database: str, topic: str) -> list[str]:
        """Returns the statements that the tables of a topic lack on a replica."""
        return [
            adding(database, schema)
            for _, schema in self._schemas(it, database, topic)
            if not schema.has_incarnations
        ]

    def _schemas(
        self, it: Connected, database: str, topic: str
    ) -> Iterator[tuple[str, TableSchema]]:
        """Yields the tables that records of a topic may be in."""
        for table, schema in sorted(self.read(it.client, database).items()):
            if table == topic if self.feed.table_from == "topic" else schema.coordinates:
                yield table, schema

    def _store(self, topic: str) -> ShardStore:
        number = self.feed.shard_number(topic)
        assert number is not None, f"{topic} is not a topic of {self.feed.name}"
        if number not in self._stores:
            timeouts = StoreTimeouts(insert=self.timeout_seconds)
            shard = self.feed.shards[number]
            self._stores[number] = self.make_store(shard, timeouts, feed=self.feed.name, kept=1)
        return self._stores[number]


def adding(database: str, schema: TableSchema) -> str:
    """Returns the statement after which a table tells the logs of a partition apart."""
    is_there = any(column.name == INCARNATION for column in schema.columns)
    verb = "MODIFY" if is_there else "ADD"
    table, column = quoted(database, schema.table), quoted(INCARNATION)
    return f"ALTER TABLE {table} {verb} COLUMN {column} {INCARNATION_TYPE}"


def _any_row(database: str, table: str, schema: TableSchema) -> str:
    or_later = OR_LATER if schema.has_incarnations else ""
    return ANY_ROW.format(table=quoted(database, table).replace("%", "%%"), or_later=or_later)


def _asked(replica: Replica, ask: Callable[[Connected], T]) -> T | str:
    """Returns the answer of a replica, or the reason why there is none."""
    try:
        with replica.connected() as it:
            return ask(it)
    except DRIVER_ERRORS as error:
        return reason(error)
