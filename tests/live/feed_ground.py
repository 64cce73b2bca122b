"""A feed between real servers: its configuration, its driver in one cluster, its loaders, and the
comparison of topic and tables."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from clickhouse_driver import Client
from confluent_kafka import Consumer, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from aggregator.driver.cluster_leadership import ClusterLeadership
from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore, groups_of
from aggregator.loader.loader import MakeSession, load
from aggregator.loader.loader_assembly import assemble
from aggregator.loader.loader_assignment import LoaderAssignment
from balancer.topic_partition import TopicPartition
from deploy.lab.credentials import PASSWORD
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import Process
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import Shape, TrafficRecord, send
from deploy.lab.wait import until
from replicator.config.cluster_name import ClusterName
from replicator.config.names import dead_letter_topic, feed_witness_group
from replicator.config.topology import Appliance
from replicator.config.topology import load as load_config
from replicator.kafka.client.cluster import Cluster
from replicator.orders.feed_orders import FeedOrders
from tests.live.loader_process import begin_as_told
from tests.live.loop_thread import LoopThread
from tests.live.replicas import ReplicatedDatabase

COLUMNS = (
    "id UInt64, name String, price Nullable(Float64), "
    "_cluster String, _topic String, _partition UInt32, _offset UInt64, _row UInt32"
)
CLUSTER = ClusterName("east aggregate")
LOADED_SECONDS = 60.0
EXACT_SECONDS = 10.0
REPLICA_PATH = (
    "SELECT replica_path FROM system.replicas WHERE database = currentDatabase() AND table = '{}'"
)
KNOWN_PARTS = "SELECT name FROM system.zookeeper WHERE path = '{}/parts'"


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it is in a table."""

    partition: int
    offset: int
    row: int
    id: int
    name: str
    price: float | None


def documents(
    count: int, *, first: int = 0, partitions: int = 1, table: str = ""
) -> Iterator[TrafficRecord]:
    """Yields JSON records; with a table they have a header that names it."""
    for number in range(first, first + count):
        price = None if number % 7 == 0 else number / 4
        value = json.dumps({"id": number, "name": f"näme {number}", "price": price}).encode()
        headers = [("table", table.encode())] if table else None
        yield TrafficRecord(number % partitions, str(number).encode(), value, headers)


def delete_intents(ground: LoadedTopic) -> None:
    """Deletes a feed's committed offsets, as the cluster does after a rest."""
    groups = [*groups_of(ground.feed), feed_witness_group(ground.feed, ground.topic)]
    admin = ground.cluster.admin()  # it ends when nobody holds it
    for each in admin.delete_consumer_groups(groups).values():
        with suppress(KafkaException):  # one that never had an offset
            each.result(30)


class LoadedTopic:
    """Topic of one cluster that a feed loads.

    Args:
        settings: returns the lines of the feed's table, by the names of feed and topic.
        brokers_die: records are sent with a producer id, which takes longer.
    """

    def __init__(
        self,
        directory: Path,
        cluster: KafkaCluster,
        redis: RedisServer,
        *,
        settings: Callable[[str, str], str],
        partitions: int = 1,
        brokers_die: bool = False,
    ) -> None:
        self.feed = f"feed-{uuid.uuid4().hex[:8]}"
        self.topic = f"docs_{uuid.uuid4().hex[:8]}"
        self.cluster, self.partitions = cluster, partitions
        self._directory = directory
        self._brokers_die = brokers_die
        path = directory / f"{self.feed}.toml"
        path.write_text(
            f"""
[regions.east]
redis = "{redis.url}"
regional.bootstrap = ["127.0.0.1:1"]
aggregate.bootstrap = {json.dumps(cluster.bootstrap.split(","))}
[feeds.{self.feed}]
region = "east"
clusters = ["east aggregate"]
{settings(self.feed, self.topic)}
"""
        )
        self.config = path
        self.appliance: Appliance = load_config(path)
        cluster.create_topics(NewTopic(self.topic, partitions))
        self._loop = LoopThread()
        feed = self.appliance.feed(self.feed)
        self.leadership = ClusterLeadership(self.appliance, "east", CLUSTER, [feed])
        self._loaders: list[Future[Any]] = []
        self._processes: list[Process] = []
        self._client: Cluster | None = None
        self.version = 0
        self.deadline_seconds = 600.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
        for loader in self._loaders:
            loader.cancel()
        self._loop.settle()
        self._loop.wait(self.leadership.close())
        if self._client:
            self._loop.wait(self._client.close())
        self._loop.close()

    # -- driver

    def lead(self) -> None:
        """Leads in the cluster: topics, term, adoption, first command."""
        self._loop.wait(self.leadership.prepare())
        self._loop.wait(self.leadership.acquire())
        self.adopt()
        self.publish()

    def lead_anew(self) -> None:
        """Leads as a driver that was started again."""
        self._loop.wait(self.leadership.close())
        feed = self.appliance.feed(self.feed)
        self.leadership = ClusterLeadership(self.appliance, "east", CLUSTER, [feed])
        self.lead()

    def adopt(self) -> None:
        """Adopts new partitions."""
        self._loop.wait(self.leadership.partitions())

    def publish(self) -> None:
        """Publishes the next plan: loaders of the one before end their epoch."""
        self.version += 1

        self._loop.wait(self.leadership.publish(self.version))

    # -- loaders

    def assignment(self, number: int = 0, partitions: Iterable[int] | None = None, **more: Any):
        numbers = range(self.partitions) if partitions is None else partitions
        return LoaderAssignment(
            feed=replace_feed(self.appliance, self.feed, more),
            cluster=CLUSTER,
            number=number,
            partitions=tuple(TopicPartition(self.topic, at) for at in numbers),
            orders=FeedOrders(feed=self.feed),
            term=self.leadership.term,
            plan_version=self.version,
            deadline=time.monotonic() + self.deadline_seconds,
        )

    def load(
        self,
        number: int = 0,
        partitions: Iterable[int] | None = None,
        make_session: MakeSession = assemble,
        **changes: Any,
    ) -> Future[Any]:
        """Starts a loader beside the test.

        Args:
            changes: of its assignment.
        """
        assignment = replace(self.assignment(number, partitions), **changes)
        found = self._loop.spawn(load(self.appliance, assignment, make_session))
        self._loaders.append(found)
        return found

    def load_apart(self, number: int = 0, partitions: Iterable[int] | None = None) -> Process:
        """Starts a loader in a process of its own."""
        told = self._directory / f"told-{len(self._processes)}"
        process = begin_as_told(told, self.appliance, self.assignment(number, partitions))
        self._processes.append(process)
        return process

    def raise_failures(self) -> None:
        """Raises the error of a loader that has failed beside the test."""
        for loader in self._loaders:
            if loader.done() and not loader.cancelled():
                loader.result()

    def settle(self) -> None:
        """Waits until loaders that were cancelled beside the test have ended."""
        self._loop.settle()

    # -- records

    def set_config(self, topic: str, name: str, value: str) -> None:
        """Sets a config of a topic."""
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        admin = self.cluster.admin()
        for done in admin.incremental_alter_configs([resource]).values():
            done.result(30)

    def send(self, records: Iterable[TrafficRecord], shape: Shape = Shape()) -> int:  # noqa: B008
        return send(self.cluster, self.topic, records, shape, is_idempotent=self._brokers_die)

    def intents(self) -> dict[int, Intent]:
        """Returns the committed intents by partition."""

        async def read() -> dict[TopicPartition, Intent]:
            if self._client is None:
                self._client = Cluster(CLUSTER, self.appliance.cluster(CLUSTER))
                await self._client.open([self.topic])
            places = [TopicPartition(self.topic, at) for at in range(self.partitions)]
            return await IntentStore(self._client, self.feed).read(places)

        return {place.partition: intent for place, intent in self._loop.wait(read()).items()}

    def is_forgotten(self) -> bool:
        """Returns True once the cluster has neither intents nor the witness."""

        async def witnessed() -> int:
            assert self._client is not None
            return await IntentStore(self._client, self.feed).witnessed(self.topic)

        return not self.intents() and not self._loop.wait(witnessed())

    def dead_letters(self) -> list[tuple[bytes | None, dict[str, bytes | None]]]:
        """Returns value and headers of each committed dead letter."""
        return [
            (message.value(), dict(message.headers() or []))
            for message in committed(self.cluster, dead_letter_topic(self.feed))
        ]


class FeedGround(LoadedTopic):
    """Feed from one cluster into the tables of one database.

    Args:
        settings: further lines of the feed's table.
        brokers_die: records are sent with a producer id, which takes longer.
    """

    def __init__(
        self,
        directory: Path,
        cluster: KafkaCluster,
        redis: RedisServer,
        database: ReplicatedDatabase,
        *,
        settings: str = "",
        quorum: int = 2,
        partitions: int = 1,
        brokers_die: bool = False,
    ) -> None:
        self.database = database
        (directory / "password").write_text(f"{PASSWORD}\n")
        (directory / "password").chmod(0o600)
        super().__init__(
            directory,
            cluster,
            redis,
            partitions=partitions,
            brokers_die=brokers_die,
            settings=lambda feed, topic: (
                f"""
block_seconds = 0.1
retry_seconds = 0.02
{settings}
[[feeds.{feed}.shards]]
topics = ["{topic}"]
database = "{database.name}"
replicas = {json.dumps(database.replicas.addresses())}
password_file = "password"
quorum = {quorum}
"""
            ),
        )

    def rows(
        self, table: str | None = None, replica: int = 0, *, is_known: bool = False
    ) -> list[Row]:
        """Returns the rows of a table on one replica, by partition, offset and row.

        Args:
            is_known: without those of parts that ZooKeeper does not know. A replica whose session
                ends amid a commit shows such parts for minutes (`test_uncommitted_parts.py`).
        """
        name = table or self.topic
        with self.database.client(replica) as client:
            paths = client.execute(REPLICA_PATH.format(name)) if is_known else ()
            known = "".join(f"AND _part IN ({KNOWN_PARTS.format(*path)}) " for path in paths)
            query = (
                f"SELECT _partition, _offset, _row, id, name, price FROM {name} "
                f"WHERE _topic = '{self.topic}' {known}ORDER BY _partition, _offset, _row"
            )
            return [Row(*row) for row in client.execute(query)]

    def count(self, table: str | None = None, replica: int = 0) -> int:
        with self.database.client(replica) as client:
            return count(client, table or self.topic)

    def wait_count(self, wanted: int, table: str | None = None, seconds: float = LOADED_SECONDS):
        """Waits until a table has so many rows on every replica."""
        replicas = range(len(self.database.replicas))

        def is_loaded() -> bool:
            self.raise_failures()
            return all(self.count(table, each) >= wanted for each in replicas)

        found = until(is_loaded, seconds)
        counts = [self.count(table, each) for each in replicas]
        assert found, f"{table or self.topic}: {counts} of {wanted} rows, intents {self.intents()}"

    def wanted(self) -> list[Row]:
        """Returns the rows that the topic's records stand for."""
        return [
            Row(partition, offset, 0, each["id"], each["name"], each["price"])
            for partition, found in sorted(dump_values(self.cluster, self.topic).items())
            for offset, each in found
        ]

    def assert_exact(self, table: str | None = None) -> None:
        """Compares a table on every replica with the topic."""
        self.assert_rows(self.wanted(), table)

    def assert_rows(self, wanted: list[Row], table: str | None = None) -> None:
        """Compares a table on every replica with these rows, in their order."""
        self.wait_count(len(wanted), table)
        for replica in range(len(self.database.replicas)):

            def is_exact(replica: int = replica) -> bool:
                # Merges exchange parts between the two questions of the second one.
                return self.rows(table, replica) == wanted or (
                    self.rows(table, replica, is_known=True) == wanted
                )

            if not until(is_exact, EXACT_SECONDS):
                found = self.rows(table, replica)
                assert len(found) == len({(r.partition, r.offset, r.row) for r in found}), table
                assert found == wanted, f"{table or self.topic} on replica {replica}"


def replace_feed(appliance: Appliance, name: str, changes: dict[str, Any]):
    return appliance.feed(name).model_copy(update=changes) if changes else appliance.feed(name)


def count(client: Client, table: str) -> int:
    return client.execute(f"SELECT count() FROM {table}")[0][0]


def dump_values(cluster: KafkaCluster, topic: str) -> dict[int, list[tuple[int, dict[str, Any]]]]:
    """Returns the committed documents by partition, with their offsets; not those without value."""
    found: dict[int, list[tuple[int, dict[str, Any]]]] = {}
    for message in committed(cluster, topic):
        if message.value():
            value = json.loads(message.value())
            found.setdefault(message.partition(), []).append((message.offset(), value))
    return found


def committed(cluster: KafkaCluster, topic: str) -> Iterator[Message]:
    """Yields all committed records of a topic, in the order of each partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "comparison",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,  # the end of a partition is told by an empty answer
            "auto.offset.reset": "earliest",
        }
    )
    try:
        numbers = sorted(consumer.list_topics(topic, 30).topics[topic].partitions)
        consumer.assign([KafkaTopicPartition(topic, number, 0) for number in numbers])
        left = set(numbers)
        while left:
            message = consumer.poll(30)
            assert message is not None, f"{topic} is silent"
            if message.error():
                left.discard(message.partition())
            else:
                yield message
    finally:
        consumer.close()


def lines_of(processes: Sequence[Process]) -> str:
    return "\n".join(process.log.read_text() for process in processes)
