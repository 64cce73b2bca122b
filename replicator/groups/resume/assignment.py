"""Partitions assigned to this consumer: where each begins, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaTopicPartition

from balancer.plan import TopicPartition
from replicator.groups.progress.aggregate import Vector
from replicator.groups.progress.vector_metadata import decode
from replicator.groups.resume.assigned import Assigned
from replicator.groups.resume.commits import committed_of
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

StoredVectors = Callable[[Sequence[TopicPartition]], Mapping[TopicPartition, Vector]]


class Assignment:
    """Partitions assigned to one consumer, each fetched only once its start is known.

    Args:
        assigned: state by partition, shared with its readers and kept up to date here.
        regions: the source regions with a route into this region.
        stored_vectors: returns the vectors that the application stored; None: it stores none.
        is_tracking: True if the vector after every message is needed.
        is_incremental: True if partitions are assigned and revoked one by one.
        patience_seconds: how long to wait for the coordinator's answer, and for runs.
    """

    def __init__(
        self,
        consumer: Consumer,
        assigned: dict[TopicPartition, Assigned],
        regions: Iterable[str],
        stored_vectors: StoredVectors | None,
        *,
        is_tracking: bool,
        is_incremental: bool,
        patience_seconds: float,
    ) -> None:
        self._consumer = consumer
        self._assigned = assigned
        self._regions = tuple(regions)
        self._stored_vectors = stored_vectors
        self._is_tracking = is_tracking
        self._is_incremental = is_incremental
        self._patience_seconds = patience_seconds
        self._unknown: list[TopicPartition] = []
        """Partitions assigned by the group and not yet fetched, because their start is
        not known.
        """
        self.unsettled: dict[TopicPartition, Assigned] = {}
        """Assigned partitions that may still need runs."""

    def take(self, partitions: Iterable[KafkaTopicPartition]) -> list[KafkaTopicPartition]:
        """Assigns partitions, in the group's callback; returns those that are fetched from now on.

        Raises KafkaException, and whatever stored_vectors raises. The caller then calls retry()
        until it no longer raises.
        """
        before = self._unknown if self._is_incremental else []
        self._unknown = [*before, *(place_of(each) for each in partitions)]
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

    def drop(self, partitions: Iterable[KafkaTopicPartition]) -> list[Assigned]:
        """Drops partitions that the group revoked, in its callback; returns the state of those that
        were fetched.
        """
        places = [place_of(each) for each in partitions]
        for place in places:
            self.unsettled.pop(place, None)
        gone = [self._assigned.pop(place) for place in places if place in self._assigned]
        if self._is_incremental and set(places) & set(self._unknown):
            # Otherwise confluent_kafka unassigns all of them by itself, which fails for those that
            # it was never given.
            self._consumer.incremental_unassign([KafkaTopicPartition(*each.place) for each in gone])
        self._unknown = [place for place in self._unknown if place not in places]
        return gone

    def pause(self, assigned: Assigned) -> None:
        """Pauses a partition that is full, and resumes it once it holds nothing."""
        position = KafkaTopicPartition(*assigned.place)
        if assigned.is_full and not assigned.is_paused:
            assigned.is_paused = True
            self._consumer.pause([position])
        elif assigned.is_paused and not assigned.partition.held:
            assigned.is_paused = False
            self._consumer.resume([position])

    def begin(self, assigned: Assigned) -> None:
        """Seeks to the start that the stored vector gives, once that start is known."""
        if assigned.start is None or assigned.is_placed:
            return
        try:
            self._consumer.resume([KafkaTopicPartition(*assigned.place)])
            self._consumer.seek(KafkaTopicPartition(*assigned.place, assigned.start))
        except KafkaException as error:
            reason = error.args[0]
            if not isinstance(reason, KafkaError) or reason.code() != KafkaError._STATE:
                raise
            # The partition is not fetched yet; the next call tries again.
            return
        assigned.begin()

    def _begin_unknown(self, patience_seconds: float) -> list[KafkaTopicPartition]:
        places = self._unknown
        committed = committed_of(self._consumer, places, patience_seconds)
        stored = self._stored_vectors(places) if self._stored_vectors and places else {}
        found = [self._begun(place, committed.get(place), stored.get(place)) for place in places]
        self._assign([_begin_of(each) for each in found])
        self._unknown = []
        self._assigned |= {each.place: each for each in found}
        self.unsettled |= {each.place: each for each in found}
        taken = [KafkaTopicPartition(*each.place) for each in found]
        # librdkafka keeps a partition paused across its revocation.
        self._consumer.resume(taken)
        if unplaced := [KafkaTopicPartition(*each.place) for each in found if not each.is_placed]:
            self._consumer.pause(unplaced)
        return taken

    def _begun(
        self, place: TopicPartition, committed: OffsetAndMetadata | None, stored: Vector | None
    ) -> Assigned:
        return Assigned(
            place,
            self._regions,
            committed,
            (decode(committed.metadata) if committed else {}) if stored is None else stored,
            is_tracking=self._is_tracking,
            is_stored=stored is not None,
            patience_seconds=self._patience_seconds,
        )

    def _assign(self, positions: list[KafkaTopicPartition]) -> None:
        if self._is_incremental:
            self._consumer.incremental_assign(positions)
        else:
            self._consumer.assign(positions)


def place_of(position: KafkaTopicPartition) -> TopicPartition:
    """Returns the partition of a position, without its offset."""
    return TopicPartition(position.topic, position.partition)


def _begin_of(assigned: Assigned) -> KafkaTopicPartition:
    if assigned.committed is None:
        return KafkaTopicPartition(*assigned.place)
    return KafkaTopicPartition(*assigned.place, assigned.committed.offset)
