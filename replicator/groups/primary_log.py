"""The decisions about primary regions that were made in one region: a topic of its aggregate.

They are nowhere else for certain: every Redis may be flushed, and is filled from here again.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping

from confluent_kafka import Message

from replicator.config.topology import KafkaCluster
from replicator.copies.followed import Portion, Position
from replicator.copies.kept_topic import TIMEOUT_SECONDS, KeptTopic
from replicator.copies.log_follower import LogFollower
from replicator.groups.primary_reader import PrimaryReader
from replicator.groups.primary_region import PrimaryRegion, encode, encode_key, joined

TOPIC = "sluice.primary-regions"
GROUP = "sluice.primary-regions"


class PrimaryLog:
    """One region's topic. Blocking; makes the topic where it is missing."""

    def __init__(
        self, name: str, cluster: KafkaCluster, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        """`name` is for people: "west aggregate"."""
        self.name = name
        self._cluster = cluster
        self._topic = KeptTopic(name, cluster, TOPIC, timeout_seconds)

    def make_topic(self) -> None:
        """Has the topic there, keeping what is written for ever. Raises AdminError."""
        self._topic.make()

    def write(self, records: Iterable[PrimaryRegion]) -> None:
        """Returns once they are on disk, each as safe as the topic's replicas make it.

        Raises AdminError: nothing was written; or WriteUnknown: perhaps, or not all.
        """
        wanted = [(encode_key(each).encode(), encode(each).encode()) for each in records]
        self._topic.write(wanted, look_with="sluice groups show")

    def read(self) -> dict[str, PrimaryRegion]:
        """By group, the decision that counts of all that were written here until now.

        Raises AdminError or LogUnreadable.
        """
        if not self._topic.exists:
            return {}
        follower = PrimaryFollower(self.name, self._cluster)
        return joined(follower.read(self._topic.timeout_seconds))


class PrimaryFollower(LogFollower[PrimaryRegion]):
    """A region's decisions as they are made; makes the topic where none was made yet."""

    def __init__(self, name: str, cluster: KafkaCluster) -> None:
        """`name` is for people: "west aggregate"."""
        super().__init__(name, cluster, TOPIC, GROUP, self._record)
        self._log = PrimaryLog(name, cluster)
        self._reader = PrimaryReader(name)

    def follow(
        self, positions: Mapping[int, Position]
    ) -> Generator[dict[int, Portion[PrimaryRegion]], None, None]:
        """As of every log."""
        self._log.make_topic()
        yield from super().follow(positions)

    def _record(self, message: Message) -> PrimaryRegion | None:
        value = message.value()
        where = f"{TOPIC}-{message.partition()} at {message.offset()}"
        return None if value is None else self._reader.read(value, where)
