"""Both ends of mirrored topics, read by an independent client and compared record by record.

The client is librdkafka: Sluice's own code for reading and writing records takes no part.
"""

import time
from array import array
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from deploy.lab.compare import Comparison, Ints, verdict
from deploy.lab.kafka import KafkaCluster

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]
Isolation = Literal["read_committed", "read_uncommitted"]

# A target must be right for both kinds of readers. Sources are read as committed only.
BOTH: tuple[Isolation, ...] = ("read_committed", "read_uncommitted")

SILENCE_SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class PartitionDump:
    """Records of one partition in order: fingerprints, offsets, and their size.

    `size_bytes` counts keys, values and headers, uncompressed. `is_stamped` marks the records whose
    timestamp this cluster set when it appended them.
    """

    prints: Ints
    offsets: Ints
    size_bytes: int
    is_stamped: Bools = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    @property
    def as_mirror(self) -> Ints:
        """Fingerprints for a target, in which every record must have the timestamp of its source.

        A record with CreateTime or LogAppendTime at the source arrives with CreateTime. A record
        that the target stamped counts as another record, even if the times are equal.
        """
        if not len(self.is_stamped):
            return self.prints
        return np.where(self.is_stamped, ~self.prints, self.prints)


EMPTY = PartitionDump(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), 0)


def dump(
    cluster: KafkaCluster, topic: str, isolation: Isolation = "read_committed"
) -> dict[int, PartitionDump]:
    """Returns all records of the topic up to the current log ends, by partition.

    Reads some 300 000 small records a second. Fingerprints can be compared within this process
    only. Raises KafkaException if the topic does not exist or cannot be read.
    """
    partitions = _partitions(cluster, topic)
    return collected(_messages(cluster, topic, partitions, isolation), partitions)


def collected(messages: Iterable[Message], partitions: Collection[int]) -> dict[int, PartitionDump]:
    """Groups the records read of a topic by partition."""
    prints = {partition: array("q") for partition in partitions}
    offsets = {partition: array("q") for partition in partitions}
    stamped = {partition: array("b") for partition in partitions}
    sizes_bytes = dict.fromkeys(partitions, 0)
    for message in messages:
        partition, offset = message.partition(), message.offset()
        assert partition is not None and offset is not None  # only errors lack them
        fingerprint, size_bytes = _fingerprint(message)
        prints[partition].append(fingerprint)
        offsets[partition].append(offset)
        stamped[partition].append(message.timestamp()[0] == TIMESTAMP_LOG_APPEND_TIME)
        sizes_bytes[partition] += size_bytes
    return {
        partition: PartitionDump(
            np.frombuffer(prints[partition], dtype=np.int64),
            np.frombuffer(offsets[partition], dtype=np.int64),
            sizes_bytes[partition],
            np.frombuffer(stamped[partition], dtype=np.bool_),
        )
        for partition in partitions
    }


def compare_topic(
    sources: Mapping[str, KafkaCluster],
    target: KafkaCluster,
    topic: str,
    isolations: Iterable[Isolation] = BOTH,
) -> dict[Isolation, Comparison]:
    """Returns the verdict on a topic in the target, for each isolation level. `sources` is by
    route.

    The caller leaves out sources that do not have the topic.
    """
    dumps = {route: dump(cluster, topic) for route, cluster in sources.items()}
    return {
        isolation: compare_dumps(dumps, dump(target, topic, isolation), topic)
        for isolation in isolations
    }


def compare_dumps(
    sources: Mapping[str, Mapping[int, PartitionDump]],
    target: Mapping[int, PartitionDump],
    topic: str,
) -> Comparison:
    """Returns the verdict on a topic: source partition p against target partition p, all routes."""
    comparison = Comparison()
    for partition in sorted({*target, *(p for source in sources.values() for p in source)}):
        own = {route: source.get(partition, EMPTY) for route, source in sources.items()}
        comparison += _compare_partition(own, target.get(partition, EMPTY), f"{topic}[{partition}]")
    return comparison


def _compare_partition(
    sources: Mapping[str, PartitionDump], target: PartitionDump, name: str
) -> Comparison:
    return verdict(
        {route: source.prints for route, source in sources.items()},
        target.as_mirror,
        name_source=lambda route, i: f"{route} {name} source offset {sources[route].offsets[i]}",
        name_target=lambda i: f"{name} target offset {target.offsets[i]}",
    )


def _partitions(cluster: KafkaCluster, topic: str) -> list[int]:
    admin = cluster.admin()
    metadata = admin.list_topics(topic, timeout=30).topics[topic]
    if metadata.error is not None:
        raise KafkaException(metadata.error)
    return sorted(metadata.partitions)


def _messages(
    cluster: KafkaCluster, topic: str, partitions: list[int], isolation: Isolation
) -> Iterable[Message]:
    consumer = Consumer(
        {
            **cluster.librdkafka_options(),
            "group.id": "sluice.lab.dump",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "auto.offset.reset": "error",
            "check.crcs": True,
            # The end of a partition is reported only after a fetch that waited without result.
            "fetch.wait.max.ms": 20,
            "fetch.max.bytes": 16 << 20,
            "max.partition.fetch.bytes": 4 << 20,
            "queued.max.messages.kbytes": 64 << 10,
        }
    )
    try:
        begins = [
            consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)[0]
            for partition in partitions
        ]
        consumer.assign(
            [TopicPartition(topic, p, begin) for p, begin in zip(partitions, begins, strict=True)]
        )
        left = set(partitions)
        heard_at = time.monotonic()
        while left:
            # consume() returns before its timeout only with this many messages.
            messages = consumer.consume(10_000, timeout=0.02)
            if messages:
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > SILENCE_SECONDS_MAX:
                raise TimeoutError(
                    f"{cluster.name}: nothing from {topic}{sorted(left)} for"
                    f" {SILENCE_SECONDS_MAX:.0f} s; is a transaction open, or a leader missing?"
                )
            for message in messages:
                error = message.error()
                if error is None:
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard(message.partition())
                else:
                    raise KafkaException(error)
    finally:
        consumer.close()


def _fingerprint(message: Message) -> tuple[int, int]:
    """Returns a hash of the record's content, and its size in bytes."""
    key, value = message.key(), message.value()
    size_bytes = len(key or b"") + len(value or b"")
    headers = tuple(message.headers() or ())
    if headers:
        size_bytes += sum(len(name) + len(content or b"") for name, content in headers)
    # 64 bits of SipHash: among ten million different records, two collide once in a hundred
    # thousand runs.
    return hash((key, value, headers, message.timestamp()[1])), size_bytes
