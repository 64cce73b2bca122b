"""A topic in several regions' aggregates on real clusters, whose records and runs a test writes."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from deploy.lab.kafka import KafkaCluster
from deploy.lab.wait import until
from replicator.config.topology import Appliance
from replicator.groups.progress.vector_metadata import decode, encode
from replicator.groups.resume.runs_reader import AggregateLogs
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.packed_map import pack_segment
from replicator.mirror.offset_map.run_segment import RunBuffer, RunSegment
from replicator.mirror.offset_map.runs_topic import RunsKey
from tests.live.topics import create, new_name

REGIONS = ("west", "east")
Record = tuple[str, int]
"""Source region and source offset of a record."""


class Mirrored:
    """A mirrored topic: `land` puts records into an aggregate, `publish` publishes their runs.

    Args:
        aggregates: by region; every region is mirrored into each of them.
        redis_url: one Redis for all regions.
    """

    def __init__(
        self, aggregates: Mapping[str, KafkaCluster], redis_url: str, partitions: int = 1
    ) -> None:
        self.topic, self.group = new_name("mirrored"), f"group-{uuid.uuid4().hex[:8]}"
        self.aggregates, self._redis_url = dict(aggregates), redis_url
        self.appliance = appliance(aggregates, redis_url)
        self._ids = {}
        for region, cluster in aggregates.items():
            create(cluster, self.topic, partitions)
            ids = AggregateLogs(self.appliance.region(region)).topic_ids([self.topic])
            self._ids[region] = ids[self.topic]
        self._gatherings: dict[tuple[str, str, int], RunBuffer] = {}
        self.told: dict[tuple[str, RunsKey], list[RunSegment]] = {}

    def land(self, region: str, *records: Record, partition: int = 0) -> None:
        """Appends records in this order; their runs are not published yet."""
        landed = []
        producer = Producer({**self.aggregates[region].librdkafka_options(), "acks": "all"})
        for record in records:
            value = f"{record[0]} {record[1]}"
            producer.produce(
                self.topic, value, partition=partition, on_delivery=lambda _, it: landed.append(it)
            )
        assert producer.flush(30) == 0
        for (source, offset), message in zip(records, landed, strict=True):
            place = region, source, partition
            self._gatherings.setdefault(place, RunBuffer(0)).land(offset, message.offset(), 1)

    def publish(self, region: str, *sources: str, partition: int | None = None) -> None:
        """Publishes the runs of these sources (default: all) that were not published yet."""
        for (target, source, number), gathering in self._gatherings.items():
            if target == region and source in (sources or REGIONS) and partition in (None, number):
                key = RunsKey(self.topic, number, source, self._ids[region])
                stretches = gathering.take()
                self.told.setdefault((f"{source}.{region}", key), []).extend(stretches)
                self._put(f"{source}.{region}", key, stretches)

    def publish_again(self) -> None:
        """Publishes all runs again, after Redis has lost them."""
        for (route_key, key), stretches in self.told.items():
            self._put(route_key, key, stretches)

    def _put(self, route_key: str, key: RunsKey, stretches: list[RunSegment]) -> None:
        with OffsetStore(self._redis_url, route_key) as store:
            store.copy(key, [pack_segment(stretch) for stretch in stretches])

    def commit(
        self, region: str, offset: int, vector: Mapping[str, int], partition: int = 0
    ) -> None:
        """Commits an offset with its vector as metadata, as `sluice failover apply` does."""
        position = TopicPartition(self.topic, partition, offset, encode(vector) if vector else "")
        consumer = self._consumer(region)

        def is_committed() -> bool:
            # For the first group of a cluster, the broker has to create __consumer_offsets first.
            with suppress(KafkaException):
                consumer.commit(offsets=[position], asynchronous=False)
                return True
            return False

        try:
            assert until(is_committed, 30)
        finally:
            consumer.close()

    def committed(self, region: str, partition: int = 0) -> tuple[int, dict[str, int]]:
        """Returns the group's committed offset and the vector in its metadata."""
        consumer = self._consumer(region)
        try:
            (found,) = consumer.committed([TopicPartition(self.topic, partition)], 30)
            return found.offset, decode(found.metadata or "")
        finally:
            consumer.close()

    def _consumer(self, region: str) -> Consumer:
        options = self.aggregates[region].librdkafka_options()
        return Consumer({**options, "group.id": self.group})


def appliance(aggregates: Mapping[str, KafkaCluster], redis_url: str) -> Appliance:
    tables: dict[str, Any] = {
        region: {
            "regional": {"bootstrap": [f"127.0.0.1:{port}"]},
            "aggregate": cluster.topology_table(),
            "redis": redis_url,
        }
        for port, (region, cluster) in enumerate(aggregates.items(), start=1)
    }
    return Appliance.model_validate({"regions": tables})


def record(message: Any) -> Record:
    assert message.error() is None, message.error()
    region, offset = message.value().decode().split()
    return region, int(offset)
