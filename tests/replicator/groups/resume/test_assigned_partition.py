"""Commits of an assigned partition."""

import logging

from balancer.topic_partition import TopicPartition
from replicator.groups.resume.assigned_partition import AssignedPartition
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

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
