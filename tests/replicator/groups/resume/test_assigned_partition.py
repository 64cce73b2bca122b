"""Assigned partitions: their commits, and how long a record waits for its run."""

import logging
from typing import Any

import pytest
from confluent_kafka import KafkaException

from balancer.topic_partition import TopicPartition
from replicator.groups.resume.assigned_partition import AssignedPartition
from replicator.groups.resume.commits import Commits, committed_of
from replicator.groups.resume.patience import Due, Patience
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

# -- Commits of an assigned partition.

FLIGHTS = TopicPartition("flights", 0)


def assigned(read: dict[str, int]) -> AssignedPartition:
    return AssignedPartition(
        FLIGHTS,
        OffsetAndMetadata(0, ""),
        read,
        regions=read,
        is_tracking=False,
        is_stored=False,
        patience_seconds=1,
    )


def test_a_vector_too_long_for_metadata_is_left_out_and_logged_once(caplog):
    partition = assigned({f"region-{number}": 10**12 for number in range(300)})
    with caplog.at_level(logging.WARNING):
        assert [partition.commit_at(at) for at in (5, 6)] == [
            OffsetAndMetadata(5, ""),
            OffsetAndMetadata(6, ""),
        ]
    assert caplog.text.count("event=vector-not-committed flights-0: the vector of 300") == 1


def test_nothing_is_uncommitted_until_something_was_handed_out_behind_the_commit():
    partition = assigned({})
    assert partition.uncommitted is None
    partition.position = 0
    assert partition.uncommitted is None
    partition.position = 3
    assert partition.uncommitted == OffsetAndMetadata(3, "")


# -- Commits are made for assigned partitions only, and are read whatever their metadata is.


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


# -- Each wait is for one record; a stream in which every record waits a little has no long wait.


def test_a_long_wait_is_logged_once_and_its_end_as_well():
    patience = Patience(60)
    assert [patience.wait(7, now) for now in (0, 4, 5, 6, 50)] == [
        Due.NOTHING,
        Due.NOTHING,
        Due.LOG,
        Due.NOTHING,
        Due.NOTHING,
    ]
    assert patience.end()
    assert not patience.end()


def test_patience_is_over_in_time_and_begins_anew():
    patience = Patience(60)
    assert patience.wait(7, 0) is Due.NOTHING
    assert patience.wait(7, 60) is Due.END
    assert patience.wait(7, 100) is Due.LOG
    assert patience.wait(7, 120) is Due.END


def test_every_record_has_a_wait_of_its_own():
    patience = Patience(60)
    assert {patience.wait(now, now) for now in range(0, 600, 3)} == {Due.NOTHING}


def test_after_an_end_the_next_wait_begins():
    patience = Patience(60)
    patience.wait(7, 0)
    patience.end()
    assert patience.wait(7, 61) is Due.NOTHING
