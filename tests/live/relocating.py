"""Two regions whose groups move: real clusters, a real Redis and real copiers. The test writes the
mirrored records itself, so that every offset is known."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import UUID

from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioPartition
from aiokafka.structs import OffsetAndMetadata
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import NewTopic

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import free_port
from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from replicator.config import topology
from replicator.config.names import runs_topic_name
from replicator.config.topology import Route
from replicator.groups.copies.commit_store import CommitStore
from replicator.groups.copies.runs_copies import RunsCopies
from replicator.groups.copies.runs_tailer import runs_tailer
from replicator.kafka.admin.admin import Admin
from replicator.kafka.tail.consumer_offsets import commit_tailer
from replicator.mirror.ledger.entry import encode
from replicator.mirror.ledger.ledger import group_of
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.runs_topic import RunsKey
from tests.live.copying import PATIENCE_SECONDS, copying, until_fresh
from tests.live.runs import create_runs_topic, fed, publisher
from tests.replicator.mirror.ledger.held import held

PARTITIONS = 2
WEST_RECORDS = 40
"""Records of west in each partition: offsets 0 to 39, both in west's log and in both aggregates."""
EAST_RECORDS = 10
"""Records of east in each partition, after those of west. Only east's aggregate holds them: nothing
is mirrored from east to west."""


def make_topic(cluster: KafkaCluster, topic: str, partitions: int = PARTITIONS) -> None:
    cluster.create_topics(NewTopic(topic, num_partitions=partitions))


class Relocating:
    """The regions west and east, under unique names.

    A region's regional cluster is its aggregate under another address. West's records therefore
    have the same offsets in both aggregates. East's records have equal source and target offsets
    too.
    """

    def __init__(
        self, west: KafkaCluster, east: KafkaCluster, redis: RedisServer, directory: Path
    ) -> None:
        self.mark = mark = uuid.uuid4().hex[:8]
        self.west, self.east = f"west-{mark}", f"east-{mark}"
        self.clusters = {self.west: west, self.east: east}
        self.topic = f"trades-{mark}"
        self.group = f"orders-{mark}"
        self.redis = redis
        self.config = directory / "appliance.toml"
        self._admins = {region: Admin(region, self.settings(region)) for region in self.clusters}
        self.configure()

    def configure(self, *lost: str, redis_url: str | None = None) -> None:
        """Writes the configuration; the aggregates of `lost` regions get unreachable addresses."""
        routes = [f"{a}>{b}" for a, b in self.routes()]
        tables = [f'[topics]\nallow = [".*-{self.mark}"]\n[replicator]\nstate_dir = "state"\n']
        for region, cluster in self.clusters.items():
            aggregate = cluster.bootstrap.split(",")
            if region in lost:
                aggregate = [f"127.0.0.1:{free_port()}"]
            alias = [address.replace("127.0.0.1", "localhost") for address in aggregate]
            tables.append(
                f"[regions.{region}]\nredis = {json.dumps(redis_url or self.redis.url)}\n"
                f"regional.bootstrap = {json.dumps(alias)}\n"
                f"aggregate.bootstrap = {json.dumps(aggregate)}\n"
            )
        self.config.write_text(f"routes = {json.dumps(routes)}\n" + "".join(tables))

    def routes(self) -> list[tuple[str, str]]:
        return [(self.west, self.west), (self.west, self.east), (self.east, self.east)]

    def settings(self, region: str) -> topology.KafkaCluster:
        return topology.KafkaCluster.model_validate(self.clusters[region].topology_table())

    # -- the mirror's part

    def mirror(self) -> None:
        """Writes the records, their runs, and the ledgers."""
        for source, target in self.routes():
            self._make_runs_topic(Route(source, target))
        for region, count in ((self.west, WEST_RECORDS), (self.east, WEST_RECORDS + EAST_RECORDS)):
            self.produce(region, count)
        whole = WEST_RECORDS + EAST_RECORDS
        asyncio.run(self._told(Route(self.west, self.west), Run(0, 0, WEST_RECORDS)))
        asyncio.run(self._told(Route(self.west, self.east), Run(0, 0, WEST_RECORDS)))
        of_east = Run(WEST_RECORDS, WEST_RECORDS, EAST_RECORDS)
        asyncio.run(self._told(Route(self.east, self.east), of_east))
        self.passed(self.west, self.west, WEST_RECORDS, WEST_RECORDS)
        self.passed(self.west, self.east, WEST_RECORDS, whole)
        self.passed(self.east, self.east, whole, whole)

    def produce(self, region: str, count: int) -> None:
        producer = Producer(self.clusters[region].librdkafka_options())
        for number in range(count * PARTITIONS):
            producer.produce(self.topic, str(number), partition=number % PARTITIONS)
        producer.flush()

    async def _told(self, route: Route, run: Run) -> None:
        source, target = (self._topic_id(region) for region in (route.source, route.target))
        stretch = RunSegment(0, run.source_offset + run.records, (run,))
        telling = await publisher(self.clusters[route.target], route.key)
        keys = [RunsKey(self.topic, number, source, target) for number in range(PARTITIONS)]
        await telling.publish((key, stretch) for key in keys)
        await telling.flush()
        await telling.stop()
        for key in keys if route.target == self.east else ():
            await fed(self.redis.url, [stretch], key, route_key=route.key)

    def _make_runs_topic(self, route: Route) -> None:
        cluster = self.clusters[route.target]
        create_runs_topic(cluster, route.key)
        admin, name = cluster.admin(), runs_topic_name(route.key)
        # A broker learns of a new topic a moment after the controller has created it.
        assert until(lambda: name in admin.list_topics(timeout=10).topics, PATIENCE_SECONDS)

    def _topic_id(self, region: str) -> str:
        (topic,) = self._admins[region].topics([self.topic])
        return topic.topic_id.hex

    def passed(self, source: str, target: str, source_offset: int, target_offset: int) -> None:
        """Commits ledger entries of a route for all partitions."""
        route = Route(source, target)
        for number in range(PARTITIONS):
            entry = held(
                source_offset=source_offset,
                target_offset=target_offset,
                sequence=1,
                transactional_id=f"sluice.{route.key}.0",
                source_topic=UUID(self._topic_id(source)),
                target_topic=UUID(self._topic_id(target)),
            )
            partition = TopicPartition(self.topic, number)
            self._commit_entry(route, partition, *encode(entry))

    def _commit_entry(
        self, route: Route, partition: TopicPartition, offset: int, metadata: str
    ) -> None:
        """Commits with a client that adds nothing to the metadata."""

        async def commit() -> None:
            consumer = AIOKafkaConsumer(
                bootstrap_servers=self.clusters[route.target].bootstrap,
                group_id=group_of(route, partition),
                enable_auto_commit=False,
            )
            where = AioPartition(partition.topic, partition.partition)
            consumer.assign([where])
            await consumer.start()
            await consumer.commit({where: OffsetAndMetadata(offset, metadata)})
            await consumer.stop()

        asyncio.run(commit())

    # -- the groups' part

    def commit(self, region: str, offsets: Mapping[int, int], group: str | None = None) -> None:
        options = self.clusters[region].librdkafka_options()
        consumer = Consumer({**options, "group.id": group or self.group})
        partitions = [
            KafkaTopicPartition(self.topic, number, offset) for number, offset in offsets.items()
        ]
        try:
            consumer.commit(offsets=partitions, asynchronous=False)
        finally:
            consumer.close()

    @contextmanager
    def member(self, region: str, group: str | None = None) -> Iterator[Consumer]:
        """Joins the group with a member that reads nothing."""
        options = self.clusters[region].librdkafka_options()
        consumer = Consumer(
            {**options, "group.id": group or self.group, "enable.auto.commit": False}
        )
        try:
            consumer.subscribe([self.topic])

            def is_in() -> bool:
                consumer.poll(0.1)
                return bool(consumer.assignment())

            assert until(is_in, PATIENCE_SECONDS)
            yield consumer
        finally:
            consumer.close()

    def committed(self, region: str, group: str | None = None) -> dict[int, int]:
        options = self.clusters[region].librdkafka_options()
        consumer = Consumer({**options, "group.id": group or self.group})
        try:
            partitions = [KafkaTopicPartition(self.topic, number) for number in range(PARTITIONS)]
            found = consumer.committed(partitions, timeout=30)
        finally:
            consumer.close()
        return {
            partition.partition: partition.offset for partition in found if partition.offset >= 0
        }

    # -- the part of west's `sluice offsets`

    @contextmanager
    def copied(self) -> Iterator[Relocating]:
        """Copies west's commits and the runs into west to east, until the block ends."""
        with ExitStack() as stack:
            commits = stack.enter_context(CommitStore(self.redis.url, self.west))
            key = f"{self.west}.{self.west}"
            runs = stack.enter_context(RunsCopies(self.redis.url, key))
            settings = self.settings(self.west)
            stack.enter_context(copying(commit_tailer("west aggregate", settings), commits))
            stack.enter_context(copying(runs_tailer("west aggregate", settings, key), runs))
            self._stores = commits, runs
            self.until_copied()
            yield self

    def until_copied(self) -> None:
        """Waits until east's copies hold everything that west's groups have committed so far."""
        for store in self._stores:
            until_fresh(store)

    @staticmethod
    def now_ms() -> int:
        return time.time_ns() // 1_000_000
