"""Partitions assigned to this consumer: where each begins, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaTopicPartition

from balancer.topic_partition import TopicPartition
from replicator.groups.progress.partition_in_region import Vector
from replicator.groups.progress.vector_metadata import decode
from replicator.groups.resume.assigned_partition import AssignedPartition
from replicator.groups.resume.commits import committed_of
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

StoredVectors = Callable[[Sequence[TopicPartition]], Mapping[TopicPartition, Vector]]


class ConsumerAssignment:
    """Partitions assigned to one consumer, each fetched only once its start is known.

    Args:
        assigned: state by partition, shared with its readers and kept up to date here.
        stored_vectors: returns the vectors that the application stored; None: it stores none.
        regions, is_tracking, held_max: see AssignedPartition.
        is_incremental: True if partitions are assigned and revoked one by one.
        patience_seconds: how long to wait for the coordinator's answer, and for a record's run.
    """

    def __init__(
        self,
        consumer: Consumer,
        assigned: dict[TopicPartition, AssignedPartition],
        stored_vectors: StoredVectors | None,
        *,
        regions: Sequence[str],
        is_tracking: bool,
        is_incremental: bool,
        patience_seconds: float,
        held_max: int,
    ) -> None:
        self._consumer = consumer
        self._assigned = assigned
        self._regions, self._is_tracking, self._held_max = regions, is_tracking, held_max
        self._stored_vectors = stored_vectors
        self._is_incremental = is_incremental
        self._patience_seconds = patience_seconds
        self._unknown: list[TopicPartition] = []
        """Partitions assigned by the group and not yet fetched, because their start is
        not known.
        """
        self.unsettled: dict[TopicPartition, AssignedPartition] = {}
        """Assigned partitions that may still need runs."""

    def take(self, partitions: Iterable[KafkaTopicPartition]) -> list[KafkaTopicPartition]:
        """Assigns partitions, in the group's callback; returns those that are fetched from now on.

        Raises KafkaException, and whatever stored_vectors raises. The caller then calls retry()
        until it no longer raises.
        """
        before = self._unknown if self._is_incremental else []
        self._unknown = [*before, *(partition_of(each) for each in partitions)]
        try:
            return self._begin_unknown(self._patience_seconds)
        except BaseException:
            # Otherwise confluent_kafka assigns the partitions by itself, and their messages belong
            # to no Assigned.
            self._assign([])
            raise

    def retry(self) -> list[KafkaTopicPartition]:
        """Assigns what take() could not; returns the partitions that are fetched from now on.

        Raises the same errors as take().
        """
        return self._begin_unknown(0.0) if self._unknown else []

    def drop(self, partitions: Iterable[KafkaTopicPartition]) -> list[AssignedPartition]:
        """Drops partitions that the group revoked, in its callback; returns the state of those that
        were fetched.
        """
        revoked = [partition_of(each) for each in partitions]
        for partition in revoked:
            self.unsettled.pop(partition, None)
        gone = [self._assigned.pop(each) for each in revoked if each in self._assigned]
        if self._is_incremental and set(revoked) & set(self._unknown):
            # Otherwise confluent_kafka unassigns all of them by itself, which fails for those that
            # it was never given.
            self._consumer.incremental_unassign(
                [KafkaTopicPartition(*each.partition) for each in gone]
            )
        self._unknown = [each for each in self._unknown if each not in revoked]
        return gone

    def pause(self, assigned: AssignedPartition) -> None:
        """Pauses a partition that is full, and resumes it once it holds nothing."""
        position = KafkaTopicPartition(*assigned.partition)
        if assigned.is_full and not assigned.is_paused:
            assigned.is_paused = True
            self._consumer.pause([position])
        elif assigned.is_paused and not assigned.records.held:
            assigned.is_paused = False
            self._consumer.resume([position])

    def begin(self, assigned: AssignedPartition) -> None:
        """Seeks to the start that the stored vector gives, once that start is known."""
        if assigned.start is None or assigned.is_positioned:
            return
        try:
            self._consumer.resume([KafkaTopicPartition(*assigned.partition)])
            self._consumer.seek(KafkaTopicPartition(*assigned.partition, assigned.start))
        except KafkaException as error:
            reason = error.args[0]
            if not isinstance(reason, KafkaError) or reason.code() != KafkaError._STATE:
                raise
            # The partition is not fetched yet; the next call tries again.
            return
        assigned.begin()

    def _begin_unknown(self, patience_seconds: float) -> list[KafkaTopicPartition]:
        partitions = self._unknown
        committed = committed_of(self._consumer, partitions, patience_seconds)
        stored = self._stored_vectors(partitions) if self._stored_vectors and partitions else {}
        found = [self._begun(each, committed.get(each), stored.get(each)) for each in partitions]
        self._assign([_begin_of(each) for each in found])
        self._unknown = []
        self._assigned |= {each.partition: each for each in found}
        self.unsettled |= {each.partition: each for each in found}
        taken = [KafkaTopicPartition(*each.partition) for each in found]
        # librdkafka keeps a partition paused across its revocation.
        self._consumer.resume(taken)
        unpositioned = [
            KafkaTopicPartition(*each.partition) for each in found if not each.is_positioned
        ]
        if unpositioned:
            self._consumer.pause(unpositioned)
        return taken

    def _begun(
        self,
        partition: TopicPartition,
        committed: OffsetAndMetadata | None,
        stored: Vector | None,
    ) -> AssignedPartition:
        is_stored = stored is not None
        if stored is None:
            stored = decode(committed.metadata) if committed else {}
        return AssignedPartition(
            partition,
            committed,
            stored,
            regions=self._regions,
            is_tracking=self._is_tracking,
            is_stored=is_stored,
            patience_seconds=self._patience_seconds,
            held_max=self._held_max,
        )

    def _assign(self, positions: list[KafkaTopicPartition]) -> None:
        if self._is_incremental:
            self._consumer.incremental_assign(positions)
        else:
            self._consumer.assign(positions)


def partition_of(position: KafkaTopicPartition) -> TopicPartition:
    """Returns the partition of a position, without its offset."""
    return TopicPartition(position.topic, position.partition)


def _begin_of(assigned: AssignedPartition) -> KafkaTopicPartition:
    if assigned.committed is None:
        return KafkaTopicPartition(*assigned.partition)
    return KafkaTopicPartition(*assigned.partition, assigned.committed.offset)
