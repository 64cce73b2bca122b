"""An upsert table between real servers: its configuration, its tables, `sluice aggregate`, and the
comparison of what queries see with brute force over the log."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_END, TopicPartition
from confluent_kafka.admin import NewPartitions, NewTopic

from aggregator.upsert.query_mark import FRESH, At
from aggregator.upsert.reader import Reader, places_of
from aggregator.upsert.row_task import store_of
from aggregator.upsert.seen_rows import ReadMark
from aggregator.upsert.table_creation import create_tables
from deploy.lab.credentials import PASSWORD, USERNAME
from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import TrafficRecord, send
from deploy.lab.wait import until
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.names import dead_letter_topic
from replicator.config.topology import load
from replicator.runtime.store_errors import StoreUnreachable
from tests.live.feed_ground import committed
from tests.live.replicas import ReplicatedDatabase

VISIBLE_SECONDS = 90.0
STARTED_SECONDS = 180.0
"""Time in which a daemon starts, and makes its first tick visible, on busy cores."""
COLUMNS = {"id": "UInt64", "name": "String", "version": "UInt64", "gone": "UInt8"}

Row = tuple[int, str, int]


class UpsertGround:
    """Upsert table of one topic, on replicas of a shard.

    Args:
        settings: further lines of the table's settings.
        aggregator: lines of the table [aggregator].
        feed_settings: further lines of the feed's settings.
    """

    def __init__(
        self,
        directory: Path,
        cluster: KafkaCluster,
        redis: RedisServer,
        database: ReplicatedDatabase,
        *,
        partitions: int = 3,
        quorum: int = 2,
        settings: str = "",
        aggregator: str = "",
        feed_settings: str = "",
    ) -> None:
        self.cluster, self.database, self.partitions = cluster, database, partitions
        self._records: dict[tuple[int, int], dict[str, Any]] = {}
        """Records by partition and offset: those that retention has taken since, too."""
        number = uuid.uuid4().hex[:8]
        self.feed, self.table, self.topic = f"feed-{number}", f"t_{number}", f"states_{number}"
        (directory / "password").write_text(f"{PASSWORD}\n")
        (directory / "password").chmod(0o600)
        columns = ", ".join(f'{name} = "{kind}"' for name, kind in COLUMNS.items())
        self.config = directory / f"{self.feed}.toml"
        self.config.write_text(
            f"""
[regions.east]
redis = "{redis.url}"
regional.bootstrap = ["127.0.0.1:1"]
aggregate.bootstrap = {json.dumps(cluster.bootstrap.split(","))}
[aggregator]
refresh_seconds = 1.0
{aggregator}
[feeds.{self.feed}]
region = "east"
clusters = ["east aggregate"]
retry_seconds = 0.02
{feed_settings}
[[feeds.{self.feed}.shards]]
topics = ["{self.topic}"]
database = "{database.name}"
replicas = {json.dumps(database.replicas.addresses())}
password_file = "password"
quorum = {quorum}
[feeds.{self.feed}.tables.{self.table}]
semantic = "upsert"
topics = ["{self.topic}"]
columns = {{ {columns} }}
primary_key = ["id"]
newest_column = "version"
delete_column = "gone"
settle_seconds = 2.0
tick_seconds = 0.5
{settings}
"""
        )
        cluster.create_topics(NewTopic(self.topic, partitions))

    def send(self, records: Iterable[TrafficRecord]) -> int:
        """Produces records."""
        return send(self.cluster, self.topic, records)

    def grow(self, partitions: int) -> None:
        """Gives the topic so many partitions."""
        admin = self.cluster.admin()  # it ends when nobody holds it
        for done in admin.create_partitions([NewPartitions(self.topic, partitions)]).values():
            done.result(30)

    def lose(self, partition: int) -> None:
        """Deletes all records that a partition has."""
        admin = self.cluster.admin()
        whole = TopicPartition(self.topic, partition, OFFSET_END)
        for done in admin.delete_records([whole]).values():
            done.result(30)

    def dead_letters(self) -> list[tuple[bytes | None, dict[str, bytes | None]]]:
        """Returns value and headers of each committed dead letter."""
        return [
            (message.value(), dict(message.headers() or []))
            for message in committed(self.cluster, dead_letter_topic(self.feed))
        ]

    def wanted(self, ends: Sequence[int] | None = None) -> dict[int, Row]:
        """Returns the newest row of each key, by brute force over what the log has had.

        Args:
            ends: of the partitions, if only the records below them are taken.
        """
        for message in committed(self.cluster, self.topic):
            with suppress(ValueError):  # a dead letter
                place = message.partition() or 0, message.offset() or 0
                self._records[place] = json.loads(message.value() or b"")
        newest: dict[int, tuple[tuple[int, int, int], dict[str, Any]]] = {}
        for place, row in self._records.items():
            partition, offset = place
            if ends is not None and (partition >= len(ends) or offset >= ends[partition]):
                continue
            order = row["version"], *place
            if row["id"] not in newest or newest[row["id"]][0] < order:
                newest[row["id"]] = order, row
        return {
            key: (row["id"], row["name"], row["version"])
            for key, (_, row) in newest.items()
            if not row["gone"]
        }

    def create(self) -> None:
        """Makes the tables of the store."""
        feed = load(self.config).feed(self.feed)
        assert isinstance(feed, ClickHouseFeed)
        store = store_of(feed, feed.tables[self.table])
        try:
            found = create_tables(store, feed.tables[self.table])
        finally:
            store.close()
        assert found.made and not found.mistakes and not found.failures, found

    def shown(self, replica: int) -> list[Row]:
        """Returns the rows of the table's view on a replica, by id."""
        with self.database.client(replica) as client:
            query = f"SELECT id, name, version FROM {self.table} ORDER BY id, version, name"
            return client.execute(query)

    def seen(self, replica: int, at: At = FRESH) -> tuple[list[Row], ReadMark]:
        """Returns the rows that a query sees on a replica, by id, and the mark that it was read at.

        Raises StoreUnreachable: the replica has not all that was committed.
        """
        (place,) = places_of(load(self.config).feed(self.feed))
        only = place._replace(servers=place.servers[replica : replica + 1])
        reader = Reader([only], user=USERNAME, password=PASSWORD, timeout_seconds=10.0)
        with reader.query(f"SELECT id, name, version FROM {self.table}", at) as answer:
            return sorted(answer), answer.marks[self.table].mark

    def assert_seen(self, *replicas: int) -> None:
        """Waits until a fresh query on each of some replicas sees the rows of brute force."""
        wanted = sorted(self.wanted().values())
        for replica in replicas:
            until(lambda at=replica: self._is_seen(at, wanted), STARTED_SECONDS, 0.2)
            assert self.seen(replica)[0] == wanted, f"replica {replica}"

    def _is_seen(self, replica: int, wanted: list[Row]) -> bool:
        with suppress(StoreUnreachable):
            return self.seen(replica)[0] == wanted
        return False

    def ends_by_tick(self, replica: int = 0) -> dict[int, list[int]]:
        """Returns the ends of each claimed tick by partition, for a topic that has not grown."""
        query = f"SELECT tick, ends FROM {self.table}__ticks WHERE what = 'claim'"
        with self.database.client(replica) as client:
            return dict(client.execute(query))

    def assert_exact(self, replicas: Sequence[int] | None = None) -> None:
        """Waits until the view of each replica shows the rows of brute force, each once.

        Args:
            replicas: numbers of those that run; None: all.
        """
        wanted = sorted(self.wanted().values())
        for replica in range(len(self.database.replicas)) if replicas is None else replicas:
            until(lambda at=replica: self.shown(at) == wanted, VISIBLE_SECONDS, 0.5)
            assert self.shown(replica) == wanted


def states(
    count: int, *, keys: int, partitions: int, seed: int, first: int = 0
) -> Iterator[TrafficRecord]:
    """Yields records of keys at random: newer, older and equal versions, and deletes.

    A key is in any partition.
    """
    chance = random.Random(seed)
    for number in range(first, first + count):
        row: Mapping[str, Any] = {
            "id": chance.randrange(keys),
            "name": f"näme {number}",
            "version": max(0, number + chance.choice((0, 0, 0, 1, -1, -keys, -3 * keys))),
            "gone": int(chance.random() < 0.1),
        }
        value = json.dumps(row).encode()
        yield TrafficRecord(chance.randrange(partitions), None, value)
