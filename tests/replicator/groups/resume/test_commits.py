"""Commits are made for assigned partitions only, and are read whatever their metadata is."""

from typing import Any

import pytest
from confluent_kafka import KafkaException

from balancer.topic_partition import TopicPartition
from replicator.groups.resume.commits import Commits, committed_of
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata


class Fetched:
    """Message of a partition that was revoked after the message was handed out."""

    def topic(self) -> str:
        return "flights"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 7


def test_a_message_of_another_members_partition_is_not_committed():
    message: Any = Fetched()
    with pytest.raises(KafkaException, match="flights-0 is assigned to another member now"):
        Commits({}, None).behind(message)


class Held:
    """Commit as librdkafka hands it out: text, or other memory behind text without a zero byte."""

    topic, error, offset = "flights", None, 7

    def __init__(self, partition: int, metadata: bytes | None) -> None:
        self.partition, self._metadata = partition, metadata

    @property
    def metadata(self) -> str | None:
        return None if self._metadata is None else self._metadata.decode()


class Holding:
    """Consumer of a group with commits."""

    def committed(self, partitions: object, timeout: float) -> list[Held]:
        return [Held(0, b"text"), Held(1, None), Held(2, b"text\xf03C\xb5")]


def test_metadata_that_librdkafka_reads_too_far_counts_as_none():
    consumer: Any = Holding()
    places = [TopicPartition("flights", number) for number in range(3)]
    assert committed_of(consumer, places, 1.0) == {
        places[0]: OffsetAndMetadata(7, "text"),
        places[1]: OffsetAndMetadata(7, ""),
        places[2]: OffsetAndMetadata(7, ""),
    }
