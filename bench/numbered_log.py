"""Logs of numbered records as arrays, and the best possible move of a group between two of them.

A record has a number of its own, whichever log it is in. Results are computed by brute force over
whole logs, without any code of Sluice.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from deploy.lab.kafka import KafkaCluster
from deploy.lab.numbered_load import Numbered

Ints = npt.NDArray[np.int64]

TICK_SECONDS = 0.005
RECORD_BYTES = 100
SILENCE_SECONDS_MAX = 30.0
# Maximum of records of one region in one partition. A record's number is its region's index times
# this, plus its number within the region.
NUMBERS = 1 << 40


@dataclass(frozen=True, slots=True)
class NumberedLog:
    """Content of one partition: the numbers of its records and their offsets, ascending by
    offset."""

    numbers: Ints
    offsets: Ints

    def before(self, offset: int) -> Ints:
        """Returns the numbers of the records below an offset."""
        found: Ints = self.numbers[: np.searchsorted(self.offsets, offset)]
        return found


@dataclass(frozen=True, slots=True)
class Moved:
    """Records that a group meets when it continues in another log."""

    unread: int
    """Records of the log that the group had not read."""
    read_again: int
    missed: int
    read_again_least: int
    """Records read again from the best offset that skips nothing."""


def moved(read: Ints, log: NumberedLog, resume: int) -> Moved:
    """Counts what a group that has read `read` meets when it resumes at an offset of a log."""
    is_read = np.isin(log.numbers, read)
    begin = int(np.searchsorted(log.offsets, resume))
    unread = np.flatnonzero(~is_read)
    best = int(unread[0]) if len(unread) else len(is_read)
    return Moved(
        unread=len(unread),
        read_again=int(is_read[begin:].sum()),
        missed=int((unread < begin).sum()),
        read_again_least=int(is_read[best:].sum()),
    )


def produce(
    clusters: Sequence[tuple[str, KafkaCluster]],
    topic: str,
    *,
    partitions: int,
    records_each: int,
    records_per_second: int,
    linger_ms: int = 5,
) -> None:
    """Produces numbered records into all of these clusters at the same time, at an even pace.

    `records_each` counts records per partition and region. Raises RuntimeError if a record is
    refused.
    """
    refused: list[object] = []
    options = {"acks": "all", "enable.idempotence": True, "linger.ms": linger_ms, "log_level": 3}
    producers = [
        (region, Producer({**cluster.librdkafka_options(), **options}))
        for region, cluster in clusters
    ]
    began_at, sent = time.monotonic(), 0
    while sent < records_each:
        due = (time.monotonic() - began_at) * records_per_second / partitions / len(producers)
        for number in range(sent, min(records_each, int(due))):
            for region, producer in producers:
                for partition in range(partitions):
                    value = Numbered("bench", partition, number, region).encode(RECORD_BYTES)
                    _put(producer, topic, value, partition, refused)
            sent = number + 1
        for _, producer in producers:
            producer.poll(0)
        time.sleep(TICK_SECONDS)
    for _, producer in producers:
        if producer.flush(60) or refused:
            raise RuntimeError(f"{topic}: not all records were taken: {refused[:3]}")


def _put(
    producer: Producer, topic: str, value: bytes, partition: int, refused: list[object]
) -> None:
    def on_delivery(error: object, _: object) -> None:
        if error is not None:
            refused.append(error)

    while True:
        try:
            producer.produce(topic, value, partition=partition, on_delivery=on_delivery)
            return
        except BufferError:
            producer.poll(0.05)


def read_log(
    cluster: KafkaCluster, topic: str, partitions: int, regions: Sequence[str]
) -> list[NumberedLog]:
    """Returns every partition up to its current end; reads about 300 000 records a second."""
    consumer = Consumer(
        {
            **cluster.librdkafka_options(),
            "group.id": "bench.numbered-log",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 20,
            "queued.max.messages.kbytes": 64 << 10,
        }
    )
    base = {region: number * NUMBERS for number, region in enumerate(regions)}
    numbers: list[list[int]] = [[] for _ in range(partitions)]
    offsets: list[list[int]] = [[] for _ in range(partitions)]
    try:
        begins = [
            consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)[0]
            for partition in range(partitions)
        ]
        consumer.assign([TopicPartition(topic, *place) for place in enumerate(begins)])
        left = set(range(partitions))
        heard_at = time.monotonic()
        while left:
            messages = consumer.consume(10_000, 0.1)
            if messages:
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > SILENCE_SECONDS_MAX:
                raise RuntimeError(f"{cluster.name}: nothing more from {topic}, of {sorted(left)}")
            for message in messages:
                error, partition, offset = message.error(), message.partition(), message.offset()
                assert partition is not None
                if error is not None:
                    if error.code() != KafkaError._PARTITION_EOF:
                        raise KafkaException(error)
                    left.discard(partition)
                    continue
                assert offset is not None
                # The value of a Numbered also holds its load and partition, which are not needed
                # here.
                _, _, number, region, _ = (message.value() or b"").split(b"|", 4)
                numbers[partition].append(base[region.decode()] + int(number))
                offsets[partition].append(offset)
    finally:
        consumer.close()
    return [
        NumberedLog(np.array(found, dtype=np.int64), np.array(places, dtype=np.int64))
        for found, places in zip(numbers, offsets, strict=True)
    ]
