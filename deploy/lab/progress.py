"""Progress of a mirror, measured by log ends alone."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

TIMEOUT_SECONDS = 30.0


def log_sizes(admin: AdminClient, partitions: Mapping[str, int]) -> dict[str, int]:
    """Returns log end minus log start, summed over each topic's partitions; 0 without the topic."""
    # A client that has asked for a topic before it was there goes on to say so for minutes.
    there = _topics(admin)
    places = [
        (topic, number)
        for topic, count in partitions.items()
        if topic in there
        for number in range(count)
    ]
    ends = _offsets(admin, places, OffsetSpec.latest())
    starts = _offsets(admin, places, OffsetSpec.earliest())
    sizes = dict.fromkeys(partitions, 0)
    for topic, number in places:
        place = topic, number
        sizes[topic] += ends.get(place, 0) - starts.get(place, 0)
    return sizes


def _topics(admin: AdminClient) -> Collection[str]:
    try:
        return admin.list_topics(timeout=TIMEOUT_SECONDS).topics
    except KafkaException:
        return ()  # looked for again soon


def _offsets(
    admin: AdminClient, places: Iterable[tuple[str, int]], spec: OffsetSpec
) -> dict[tuple[str, int], int]:
    asked = admin.list_offsets(
        {TopicPartition(*place): spec for place in places},
        isolation_level=IsolationLevel.READ_UNCOMMITTED,
        request_timeout=TIMEOUT_SECONDS,
    )
    found: dict[tuple[str, int], int] = {}
    for place, answer in asked.items():
        try:
            # The client's published type stubs lack this attribute.
            answered: Any = answer.result(TIMEOUT_SECONDS)
            found[place.topic, place.partition] = answered.offset
        except KafkaException:
            continue  # no leader, or no answer: asked again soon
    return found


@dataclass(slots=True)
class TransferProgress:
    """Progress of a topic: when records began to arrive and when all had, in seconds since the
    watch began."""

    expected: int
    arrived: int = 0
    began_at: float | None = None
    done_at: float | None = None

    def see(self, arrived: int, *, now: float, looked_before_at: float) -> None:
        """Adds a look. The first records came no earlier than the look before."""
        if arrived > 0 and self.began_at is None:
            self.began_at = looked_before_at
        if arrived >= self.expected and self.done_at is None:
            self.done_at = now
        self.arrived = arrived

    @property
    def is_done(self) -> bool:
        return self.done_at is not None

    @property
    def seconds(self) -> float | None:
        """Duration in seconds, or None before it is done."""
        if self.began_at is None or self.done_at is None:
            return None
        return self.done_at - self.began_at
