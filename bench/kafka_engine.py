"""Kafka engine of ClickHouse: a Kafka table and materialised views, inside of the server."""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka import Consumer, TopicPartition

from bench.feed_ground import FeedShard
from bench.feed_load import FeedLoad
from bench.feed_system import FeedOrder
from bench.flights import COLUMNS, KIND
from bench.ground import PARTITIONS
from bench.side_by_side import Impossible
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import Process

CONSUMERS = 2


class KafkaEngine:
    """Kafka engine with as many consumers as cores.

    With a quorum it has one consumer only: two would refuse each other's inserts.
    """

    def __init__(self, shard: FeedShard, order: FeedOrder) -> None:
        if order.load.format != "json":
            raise Impossible("the Kafka engine of 18.16 reads neither Protobuf nor Avro")
        self._shard, self._order = shard, order
        self._group = f"engine-{shard.number}"
        self._is_created = False

    @property
    def process(self) -> Process | None:
        return None

    def start(self) -> None:
        """Starts the server after kill(); it goes on by itself."""
        if self._is_created:
            self._shard.servers[0].start()
            self._shard.servers[0].wait_ready()
            return
        self._is_created = True
        load, kafka = self._order.load, self._shard.ground.kafka
        from_the_beginning(kafka, load.topic, self._group)
        for table in load.tables:
            self._shard.create_table(table, COLUMNS)
        consumers = 1 if self._shard.quorum else CONSUMERS
        settings = {
            "kafka_broker_list": f"'{kafka.bootstrap}'",
            "kafka_topic_list": f"'{load.topic}'",
            "kafka_group_name": f"'{self._group}'",
            "kafka_format": "'JSONEachRow'",
            "kafka_row_delimiter": "'\\n'",
            "kafka_num_consumers": str(consumers),
        }
        for query in statements(load, settings):
            self._shard.execute(query)

    def rows(self) -> int:
        return self._shard.rows(self._order.load.tables)

    def kill(self) -> None:
        self._shard.servers[0].kill()

    def stop(self) -> None:
        """Leaves the end to the server's own."""


def profile(order: FeedOrder, quorum: int) -> dict[str, object]:
    """Returns the settings of the server's background threads, which insert what is read."""
    found: dict[str, object] = {
        "input_format_skip_unknown_fields": 1,
        "stream_flush_interval_ms": round(order.seal_seconds * 1000),
    }
    if quorum:
        found["insert_quorum"] = quorum
        found["insert_quorum_timeout"] = 60_000
    return found


def statements(load: FeedLoad, settings: dict[str, str]) -> Iterator[str]:
    """Yields the queries that create the Kafka table and its views.

    Reading begins with the first view of the Kafka table, so all views come first: upon a table of
    the same name that keeps nothing. The server knows a table's views by the table's name.
    """
    columns = f"{KIND} String, {COLUMNS}" if load.has_header else COLUMNS
    names = ", ".join(column.split()[0] for column in COLUMNS.split(", "))
    yield f"CREATE TABLE queue ({columns}) ENGINE = Null"
    for table in load.tables:
        condition = f" WHERE {KIND} = '{table}'" if load.has_header else ""
        yield (
            f"CREATE MATERIALIZED VIEW {table}_view TO {table} AS "
            f"SELECT {names} FROM queue{condition}"
        )
    yield "DROP TABLE queue"
    named = ", ".join(f"{name} = {value}" for name, value in settings.items())
    yield f"CREATE TABLE queue ({columns}) ENGINE = Kafka SETTINGS {named}"


def from_the_beginning(kafka: KafkaCluster, topic: str, group: str) -> None:
    """Commits offset 0 of each partition: without it the engine would begin at the end."""
    consumer = Consumer({**kafka.librdkafka_options(), "group.id": group, "log_level": 0})
    try:
        offsets = [TopicPartition(topic, number, 0) for number in range(PARTITIONS)]
        consumer.commit(offsets=offsets, asynchronous=False)
    finally:
        consumer.close()
