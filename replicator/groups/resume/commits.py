"""Commits of a consumer: offsets, with vectors as their metadata."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaTopicPartition

from balancer.topic_partition import TopicPartition
from replicator.groups.resume.assigned_partition import AssignedPartition
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

logger = logging.getLogger(__name__)

ANSWER_SECONDS_MAX = 15.0
RETRY_SECONDS = 0.1


class Commits:
    """Commits of what was handed out of the assigned partitions.

    Args:
        assigned: state by partition, kept up to date by the consumer.
        callback: the application's on_commit.
    """

    def __init__(
        self,
        assigned: Mapping[TopicPartition, AssignedPartition],
        callback: Callable[[KafkaError | None, list[KafkaTopicPartition]], None] | None,
    ) -> None:
        self._assigned = assigned
        self._callback = callback

    def after(self, message: Message) -> tuple[AssignedPartition, int]:
        """Returns the state of a message's partition, and the offset after the message.

        Raises KafkaException where the partition is assigned to another member now.
        """
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        assert topic is not None
        assert partition is not None
        assert offset is not None
        assigned = self._assigned.get(TopicPartition(topic, partition))
        if assigned is None:
            text = f"{topic}-{partition} is assigned to another member now"
            raise KafkaException(KafkaError(KafkaError._STATE, text))
        return assigned, offset + 1

    def due(self, assigned: Iterable[AssignedPartition]) -> list[KafkaTopicPartition]:
        """Returns the commits for what was handed out of some partitions and is not committed."""
        found = ((each.partition, each.uncommitted) for each in assigned)
        return [_position(partition, commit) for partition, commit in found if commit]

    def behind(self, message: Message) -> KafkaTopicPartition:
        """Returns the commit that covers everything up to a message and including it."""
        assigned, offset = self.after(message)
        return _position(assigned.partition, assigned.commit_at(offset))

    def commit(
        self, consumer: Consumer, positions: list[KafkaTopicPartition]
    ) -> list[KafkaTopicPartition]:
        """Commits, and waits for the answer.

        Raises KafkaException, also when only one partition's commit was refused.
        """
        answer: Any = consumer.commit(offsets=positions, asynchronous=False)
        committed: list[KafkaTopicPartition] = answer
        self._note(committed)
        for each in committed:
            if each.error:
                raise KafkaException(each.error)
        return committed

    def commit_before_leaving(
        self, consumer: Consumer, assigned: Iterable[AssignedPartition]
    ) -> None:
        try:
            if positions := self.due(assigned):
                self.commit(consumer, positions)
        except KafkaException as error:
            logger.warning(
                "event=not-committed %s; messages handed out since the last commit come again",
                error,
            )

    def on_commit(self, error: KafkaError | None, positions: list[KafkaTopicPartition]) -> None:
        """Notes the result of an asynchronous commit. The next commit repeats one that failed."""
        if error is None:
            self._note(positions)
        if self._callback:
            self._callback(error, positions)

    def _note(self, positions: Iterable[KafkaTopicPartition]) -> None:
        for each in positions:
            assigned = self._assigned.get(TopicPartition(each.topic, each.partition))
            if assigned is not None and not each.error:
                assigned.committed = OffsetAndMetadata(each.offset, each.metadata or "")


def committed_of(
    consumer: Consumer, partitions: Sequence[TopicPartition], patience_seconds: float
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Returns the group's commits; a partition without one is left out.

    Waits for the coordinator, because nothing may be handed out without the commits' metadata.
    Raises KafkaException once patience_seconds have passed.
    """
    deadline = time.monotonic() + patience_seconds
    while partitions:
        try:
            found = consumer.committed(
                [KafkaTopicPartition(*partition) for partition in partitions], ANSWER_SECONDS_MAX
            )
            for each in found:
                if each.error:
                    raise KafkaException(each.error)
        except KafkaException:
            if time.monotonic() >= deadline:
                raise
            time.sleep(RETRY_SECONDS)
        else:
            return {
                TopicPartition(each.topic, each.partition): OffsetAndMetadata(
                    each.offset, _metadata(each)
                )
                for each in found
                if each.offset >= 0
            }
    return {}


def _metadata(position: KafkaTopicPartition) -> str:
    """Returns the metadata of a commit; empty where it is no text.

    Clients other than librdkafka's commit metadata without a zero byte at its end, and librdkafka
    then reads on into other memory. Vectors have one.
    """
    try:
        return position.metadata or ""
    except UnicodeDecodeError:
        return ""


def _position(partition: TopicPartition, commit: OffsetAndMetadata) -> KafkaTopicPartition:
    return KafkaTopicPartition(*partition, commit.offset, commit.metadata)
