"""Offsets that MirrorMaker 2 syncs for groups into the target cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from bench.ground import say
from bench.mirror import Order
from bench.mirrormaker import MirrorMaker
from bench.numbered_log import NumberedLog, produce, read_log
from deploy.lab.kafka import KafkaCluster
from deploy.lab.progress import log_sizes
from deploy.lab.wait import until

START_SECONDS_MAX = 90.0
ARRIVE_SECONDS_MAX = 60.0
# Three rounds of MirrorMaker (groups, checkpoints, syncs: 2 s each) and one flush (5 s).
SETTLED_SECONDS = 12.0
SETTLE_SECONDS_MAX = 60.0


@dataclass(slots=True)
class Between:
    """Two clusters for one mirror."""

    directory: Path
    source: KafkaCluster
    target: KafkaCluster
    _number: int = field(default=0, init=False)

    def next_number(self) -> int:
        self._number += 1
        return self._number


@dataclass(frozen=True, slots=True)
class Translated:
    """Logs of source and target, and each group's offsets in them, by partition."""

    source: Sequence[NumberedLog]
    target: Sequence[NumberedLog]
    committed: Mapping[str, Sequence[int]]
    synced: Mapping[str, Sequence[int]]


def translated(
    ends: Between,
    region: str,
    topic: str,
    lags: Mapping[str, int],
    *,
    partitions: int,
    records_each: int,
    records_per_second: int,
) -> Translated:
    """Mirrors a topic during its production, and syncs groups with the given lags.

    Args:
        lags: by group, the number of records between its offset and the end, in every partition.

    Raises NotStarted.
    """
    mirror = MirrorMaker(ends, Order(topic, "failover"))
    admin = ends.target.admin()
    mirror.start()
    try:

        def is_at_work() -> bool:
            if not mirror.process.is_running():
                raise mirror.process.failure("has ended")
            return mirror.target_topic in admin.list_topics(timeout=10).topics

        if not until(is_at_work, START_SECONDS_MAX, 0.5):
            raise mirror.process.failure("does not begin")
        produce(
            [(region, ends.source)],
            topic,
            partitions=partitions,
            records_each=records_each,
            records_per_second=records_per_second,
        )
        committed = {
            group: [max(0, records_each - lag)] * partitions for group, lag in lags.items()
        }
        for group, offsets in committed.items():
            commit(ends.source, group, topic, offsets)
        expected = {mirror.target_topic: partitions}
        if not until(
            lambda: sum(log_sizes(admin, expected).values()) >= records_each * partitions,
            ARRIVE_SECONDS_MAX,
        ):
            raise mirror.process.failure("does not mirror everything")
        synced = _settled(ends.target, mirror.target_topic, lags, partitions)
        return Translated(
            read_log(ends.source, topic, partitions, [region]),
            read_log(ends.target, mirror.target_topic, partitions, [region]),
            committed,
            synced,
        )
    finally:
        mirror.stop()


def commit(cluster: KafkaCluster, group: str, topic: str, offsets: Sequence[int]) -> None:
    """Commits the next offset to read of each partition, as a group that has stopped leaves it."""
    consumer = Consumer({**cluster.librdkafka_options(), "group.id": group})
    places = [TopicPartition(topic, *place) for place in enumerate(offsets)]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


def committed_by(cluster: KafkaCluster, group: str, topic: str, partitions: int) -> list[int]:
    """Returns the committed offset of each partition, below 0 if there is none."""
    consumer = Consumer({**cluster.librdkafka_options(), "group.id": group})
    asked = [TopicPartition(topic, partition) for partition in range(partitions)]
    try:
        return [place.offset for place in consumer.committed(asked, timeout=30)]
    finally:
        consumer.close()


def _settled(
    cluster: KafkaCluster, topic: str, groups: Mapping[str, int], partitions: int
) -> dict[str, list[int]]:
    """Returns the synced offsets, once they exist and have stopped improving."""
    found: dict[str, list[int]] = {}
    looks = 0

    def is_settled() -> bool:
        nonlocal found, looks
        before, found = found, {g: committed_by(cluster, g, topic, partitions) for g in groups}
        is_whole = all(offset >= 0 for offsets in found.values() for offset in offsets)
        looks = looks + 1 if is_whole and found == before else 0
        return looks > SETTLED_SECONDS

    if not until(is_settled, SETTLE_SECONDS_MAX, 1.0):
        say(f"  synced offsets still move after {SETTLE_SECONDS_MAX:.0f} s")
    return found
