"""Log of the primary region decisions made in one region: a topic of its aggregate.

No other place is certain to keep them: every Redis may be flushed, and is filled from here again.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any

from confluent_kafka import Message

from replicator.config.names import PRIMARY_REGIONS_TOPIC
from replicator.config.topology import KafkaCluster
from replicator.groups.membership.primary_reader import PrimaryReader
from replicator.groups.membership.primary_region import PrimaryRegion, encode, encode_key, joined
from replicator.kafka.tail.compacted_topic import TIMEOUT_SECONDS, CompactedTopic
from replicator.kafka.tail.tail_position import Portion, TailPosition
from replicator.kafka.tail.topic_tailer import TopicTailer


class PrimaryLog:
    """Topic of one region's decisions. Blocking; creates the topic where it is missing."""

    def __init__(
        self, name: str, cluster: KafkaCluster, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        """`name` is the cluster's name for people, such as "west aggregate"."""
        self.name = name
        self._cluster = cluster
        self._topic = CompactedTopic(name, cluster, PRIMARY_REGIONS_TOPIC, timeout_seconds)

    def make_topic(self) -> None:
        """Creates the topic where it is missing, compacted, so that records are kept for ever.

        Raises AdminError.
        """
        self._topic.make()

    def write(self, records: Iterable[PrimaryRegion]) -> None:
        """Writes records; returns once they are on disk, as safe as the topic's replicas make them.

        Raises AdminError: nothing was written; or WriteUnknown: perhaps all or some were.
        """
        wanted = [(encode_key(each).encode(), encode(each).encode()) for each in records]
        self._topic.write(wanted, look_with="sluice groups show")

    def read(self) -> dict[str, PrimaryRegion]:
        """Returns, by group, the decision that counts of all that were written here until now.

        Raises AdminError or LogUnreadable.
        """
        if not self._topic.exists:
            return {}
        tailer = PrimaryTailer(self.name, self._cluster)
        return joined(tailer.read(self._topic.timeout_seconds))


class PrimaryTailer(TopicTailer[PrimaryRegion]):
    """Tailer of a region's decisions; creates the topic where it is missing."""

    def __init__(self, name: str, cluster: KafkaCluster, **options: Any) -> None:
        """`name` is the cluster's name for people, such as "west aggregate".

        Args:
            options: those of TopicTailer.
        """
        topic = PRIMARY_REGIONS_TOPIC
        super().__init__(name, cluster, topic, topic, self._record, **options)
        self._log = PrimaryLog(name, cluster)
        self._reader = PrimaryReader(name)

    def follow(
        self, positions: Mapping[int, TailPosition]
    ) -> Generator[dict[int, Portion[PrimaryRegion]], None, None]:
        """Yields what each poll brings, as TopicTailer.follow() does."""
        self._log.make_topic()
        yield from super().follow(positions)

    def _record(self, message: Message) -> PrimaryRegion | None:
        value = message.value()
        where = f"{PRIMARY_REGIONS_TOPIC}-{message.partition()} at {message.offset()}"
        return None if value is None else self._reader.read(value, where)
