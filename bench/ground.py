"""Servers shared by all systems of a run: Kafka clusters and a Redis.

They are started once, so that no system gets warmer or colder brokers than another.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from deploy.lab.kafka import CHECKOUT, KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.wait import until

DIRECTORY = CHECKOUT / ".lab" / "bench"
PARTITIONS = 8
TIMEOUT_SECONDS = 30.0

PROPERTIES = {
    # Deleted targets of earlier runs free their disk space and page cache soon.
    "log.segment.delete.delay.ms": "1000",
    # No segment may expire in the middle of a measurement.
    "log.retention.hours": "-1",
}


class Servers:
    """Kafka clusters and a Redis: starts them as a context manager, and ends them on exit.

    Args:
        clusters: their names.
    """

    def __init__(self, directory: Path, *clusters: str) -> None:
        self.directory = directory
        self.clusters = [KafkaCluster(name, directory, properties=PROPERTIES) for name in clusters]
        self.redis = RedisServer(directory)
        self._number = 0

    def __enter__(self) -> Self:
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        servers: list[KafkaCluster | RedisServer] = [*self.clusters, self.redis]
        try:
            for server in servers:
                server.start()
            for server in servers:
                server.wait_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for cluster in self.clusters:
            cluster.kill_all()
        self.redis.kill()
        # Data takes gigabytes. Server logs stay, since they are needed after a failure.
        for cluster in self.clusters:
            shutil.rmtree(cluster.directory / "node-1" / "data", ignore_errors=True)

    def next_number(self) -> int:
        """Returns a number that is unique to a system, so that systems share no state on the
        servers."""
        self._number += 1
        return self._number


class Ground(Servers):
    """Source cluster, target cluster and Redis of mirrors."""

    def __init__(self, directory: Path = DIRECTORY) -> None:
        super().__init__(directory, "source", "target")
        self.source, self.target = self.clusters


def make_topic(cluster: KafkaCluster, topic: str) -> None:
    """Creates a topic; each partition has a leader when this returns. Raises KafkaException."""
    admin = cluster.admin()  # the client has to live until its answer arrives
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(TIMEOUT_SECONDS)

    def is_led() -> bool:
        partitions = admin.list_topics(topic, timeout=10).topics[topic].partitions
        return len(partitions) == PARTITIONS and all(p.leader >= 0 for p in partitions.values())

    if not until(is_led, TIMEOUT_SECONDS):
        raise TimeoutError(f"{topic} has no leaders after {TIMEOUT_SECONDS} s")


def delete_topics(cluster: KafkaCluster, topics: Iterable[str]) -> None:
    """Deletes the topics that exist; they are gone when this returns."""
    admin = cluster.admin()
    gone = [topic for topic in topics if topic in admin.list_topics(timeout=10).topics]
    if gone:
        for future in admin.delete_topics(gone).values():
            future.result(TIMEOUT_SECONDS)
        until(lambda: not set(gone) & set(admin.list_topics(timeout=10).topics), TIMEOUT_SECONDS)


def log_end(admin: AdminClient, topic: str) -> int:
    """Returns the sum of the topic's log end offsets, or 0 while it does not exist."""
    asked: dict[TopicPartition, OffsetSpec] = {
        TopicPartition(topic, number): OffsetSpec.latest() for number in range(PARTITIONS)
    }
    answers = admin.list_offsets(
        asked,
        isolation_level=IsolationLevel.READ_UNCOMMITTED,
        request_timeout=TIMEOUT_SECONDS,
    )
    total = 0
    for answer in answers.values():
        try:
            # The client's published type stubs lack this attribute.
            answered: Any = answer.result(TIMEOUT_SECONDS)
        except KafkaException:
            continue
        total += answered.offset
    return total


def say(text: str) -> None:
    """Prints progress with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
