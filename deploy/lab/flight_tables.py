"""Tables of the demo's flights on two ClickHouse replicas: their feed, their columns, and the
comparison of each with its topic."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, Message
from confluent_kafka import TopicPartition as KafkaTopicPartition

from deploy.lab import flights
from deploy.lab.clickhouse_replicas import ClickHouseReplicas, replicated_engine
from deploy.lab.credentials import PASSWORD
from deploy.lab.kafka import KafkaCluster
from deploy.lab.lab import Lab

if TYPE_CHECKING:
    from pandas import DataFrame

DATABASE = "flights"
FEED = "flights"
REPLICAS = 2
TYPES = {"int64": "Int64", "float64": "Nullable(Float64)"}
OTHER_TYPE = "Nullable(String)"
COORDINATES = (
    "_cluster String, _topic String, _partition UInt32, _offset UInt64, _row UInt32, "
    "_incarnation UInt64"
)
SILENCE_SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class TableVerdict:
    """A table on one replica, compared with the records of its topic."""

    table: str
    replica: int
    records: int
    rows: int
    lost: int
    doubled: int
    changed: int

    @property
    def is_right(self) -> bool:
        return not (self.lost or self.doubled or self.changed) and self.rows == self.records


def feed_toml(
    replicas: ClickHouseReplicas, region: str, more_topics: Sequence[str] = (), more: str = ""
) -> str:
    """Returns the tables of the configuration that load a region's aggregate cluster.

    Args:
        more_topics: further topics of the feed.
        more: further tables of the configuration.
    """
    topics = [*(topic.name for topic in flights.TOPICS), *more_topics]
    return f"""
[feeds.{FEED}]
region = "{region}"
clusters = ["{region} aggregate"]
block_seconds = 0.5
[[feeds.{FEED}.shards]]
topics = {json.dumps(topics)}
database = "{DATABASE}"
replicas = {json.dumps(replicas.addresses())}
password_file = "clickhouse-password"
quorum = {REPLICAS}
{more}
"""


def add_feed(
    lab: Lab,
    replicas: ClickHouseReplicas,
    region: str,
    more_topics: Sequence[str] = (),
    more: str = "",
) -> None:
    """Adds the feed to the configuration of a lab (see feed_toml)."""
    password = lab.directory / "clickhouse-password"
    password.write_text(f"{PASSWORD}\n")
    password.chmod(0o600)
    text = lab.configuration.read_text()
    lab.configuration.write_text(f"{text}\n{feed_toml(replicas, region, more_topics, more)}")


def create_tables(replicas: ClickHouseReplicas) -> None:
    """Creates a table for each topic on each replica, with the columns that identify a row."""
    replicas.execute(f"CREATE DATABASE {DATABASE}")
    for topic in flights.TOPICS:
        columns = ", ".join(f"{name} {kind}" for name, kind in _columns(topic).items())
        replicas.execute(
            f"CREATE TABLE {topic.name} ({columns}, {COORDINATES}) "
            f"ENGINE = {replicated_engine(DATABASE, topic.name)} "
            "ORDER BY (_cluster, _topic, _partition, _offset, _row) "
            "SETTINGS index_granularity = 8192, replicated_deduplication_window = 1000",
            DATABASE,
        )


def count_rows(replicas: ClickHouseReplicas) -> int:
    """Returns the number of rows that every replica has, over all tables."""
    counts: list[int] = []
    for replica in replicas:
        with replica.client(DATABASE) as client:
            found = [client.execute(f"SELECT count() FROM {t.name}") for t in flights.TOPICS]
        counts.append(sum(count for [[count]] in found))
    return min(counts)


def compare_tables(cluster: KafkaCluster, replicas: ClickHouseReplicas) -> Iterator[TableVerdict]:
    """Compares every table on every replica with its topic: identities, then all columns."""
    for topic in flights.TOPICS:
        names = list(_columns(topic))
        identities, documents = _records(cluster, topic.name)
        wanted = [tuple(document[name] for name in names) for document in documents]
        for number, replica in enumerate(replicas):
            with replica.client(DATABASE) as client:
                rows: list[tuple[Any, ...]] = client.execute(
                    f"SELECT _partition, _offset, {', '.join(names)} FROM {topic.name} "
                    "ORDER BY _partition, _offset, _row"
                )
            found = dict(zip(((row[0], row[1]) for row in rows), rows, strict=True))
            lost = sum(each not in found for each in identities)
            changed = sum(
                each in found and found[each][2:] != values
                for each, values in zip(identities, wanted, strict=True)
            )
            yield TableVerdict(
                topic.name, number, len(wanted), len(rows), lost, len(rows) - len(found), changed
            )


def _columns(topic: flights.FlightTopic) -> dict[str, str]:
    """Returns the type of each field of a topic's documents."""
    frame: DataFrame = topic.rows("east").drop(columns="moment")
    return {str(name): TYPES.get(str(kind), OTHER_TYPE) for name, kind in frame.dtypes.items()}


def _records(
    cluster: KafkaCluster, topic: str
) -> tuple[list[tuple[int, int]], list[dict[str, Any]]]:
    """Returns partition and offset of each committed record, and its document."""
    identities, documents = [], []
    for message in committed(cluster, topic):
        identities.append((message.partition() or 0, message.offset() or 0))
        documents.append(json.loads(message.value() or b""))
    return identities, documents


def committed(cluster: KafkaCluster, topic: str) -> Iterator[Message]:
    """Yields the committed records of a topic, in the order of each partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "demo-tables",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        left = set(consumer.list_topics(topic, 30).topics[topic].partitions)
        consumer.assign([KafkaTopicPartition(topic, number, 0) for number in sorted(left)])
        while left:
            message = consumer.poll(SILENCE_SECONDS_MAX)
            if message is None:
                raise TimeoutError(f"{topic} is silent")
            if message.error():
                left.discard(message.partition() or 0)
            else:
                yield message
    finally:
        consumer.close()
