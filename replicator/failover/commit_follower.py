"""The commits of all groups of one cluster, as they are made: its `__consumer_offsets`, followed.

What a transaction commits is shown once it is committed; one that is left open (decision 0010)
holds up what is behind it in its partition, which shows as no more news of having caught up.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from replicator.config.topology import KafkaCluster
from replicator.failover.commit_log import Portion, Position, Reading, beginnings
from replicator.failover.commit_record import UnknownCommit, commit_of, key_of
from replicator.failover.log_ends import LogEnds
from replicator.offsets.runs_topic import PASSING
from replicator.topics.admin import Admin

logger = logging.getLogger(__name__)

TOPIC = "__consumer_offsets"
# Committed to by nobody: librdkafka wants a name.
GROUP = "sluice.commits"
# What one poll may bring, and the store takes in one step.
MESSAGES_PER_POLL = 5000
POLL_SECONDS = 0.1
# How often it is looked whether the topic is still the same one.
LOOK_SECONDS = 10.0
TIMEOUT_SECONDS = 5.0


class CommitsUnreadable(Exception):
    """The log of commits cannot be read just now, for the reason given. Try again later."""


class CommitFollower:
    """Reads one cluster's commits. Blocking; one follow() at a time."""

    def __init__(self, name: str, cluster: KafkaCluster) -> None:
        """`name` is for people: "west aggregate"."""
        self.name = name
        self._admin = Admin(name, cluster, timeout_seconds=TIMEOUT_SECONDS)
        self._options = {
            "bootstrap.servers": cluster.bootstrap_servers,
            **cluster.security.librdkafka_options(),
            "log_level": 0,
            "reconnect.backoff.max.ms": 1000,
        }
        self._unreadable: set[str] = set()

    def follow(
        self, positions: Mapping[int, Position]
    ) -> Generator[dict[int, Portion], None, None]:
        """What each poll brings, by partition: several times a second, also when it is nothing.

        First come all partitions, and from where each is read. Ends when something has to be begun
        anew, because the log was cut or the topic is another one: put what came, and call it again
        with the positions of then. Raises AdminError or CommitsUnreadable.
        """
        topic_id, partitions = self._topic()
        begun = beginnings(positions, topic_id, partitions)
        if any(positions.get(number, it).topic_id != topic_id for number, it in begun.items()):
            logger.warning(
                "event=commits-read-anew %s: %s is not the topic it was; its commits are read "
                "from the beginning",
                self.name,
                TOPIC,
            )
        yield {number: Portion(position, position) for number, position in begun.items()}
        readings = {number: Reading(position) for number, position in begun.items()}
        ends = LogEnds({**self._options, "client.id": f"{GROUP}.ends"}, TOPIC, partitions)
        consumer = self._consumer()
        look_at = time.monotonic() + LOOK_SECONDS
        try:
            consumer.assign(_places(begun))
            while not any(reading.is_cut for reading in readings.values()):
                self._poll(consumer, readings)
                if news := ends.news():
                    for number, end in news.ends.items():
                        readings[number].expect(end, news.asked_at_ms)
                    look_at = look_at if news.is_whole else 0.0
                if time.monotonic() >= look_at:
                    if self._topic() != (topic_id, partitions):
                        return
                    look_at = time.monotonic() + LOOK_SECONDS
                yield self._taken(readings)
        except KafkaException as error:
            raise CommitsUnreadable(f"{self.name}: {TOPIC}: {error}") from error
        finally:
            consumer.close()

    def _topic(self) -> tuple[str, range]:
        """Its id and its partitions."""
        for topic in self._admin.topics([TOPIC]):
            if topic.topic_id is not None:
                return topic.topic_id.hex, range(topic.partitions)
        raise CommitsUnreadable(f"{self.name}: there is no {TOPIC} yet; no group ever committed")

    def _consumer(self) -> Consumer:
        return Consumer(
            {
                **self._options,
                "group.id": GROUP,
                "client.id": GROUP,
                "enable.auto.commit": False,
                # Of a log that was cut: what comes then lies before what was read, which is seen.
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )

    def _poll(self, consumer: Consumer, readings: Mapping[int, Reading]) -> None:
        for message in consumer.consume(MESSAGES_PER_POLL, timeout=POLL_SECONDS):
            error = message.error()
            if error is None:
                self._read(readings[int(message.partition() or 0)], message)
            elif error.code() == KafkaError._PARTITION_EOF:
                readings[int(message.partition() or 0)].reach(int(message.offset() or 0))
            elif error.code() not in PASSING:
                raise KafkaException(error)

    def _read(self, reading: Reading, message: Message) -> None:
        offset, key, value = int(message.offset() or 0), message.key(), message.value()
        committed = commit = None
        try:
            committed = key_of(key or b"")
            commit = commit_of(value) if committed and value is not None else None
        except UnknownCommit as unknown:
            committed = None
            self._note_unreadable(str(unknown), f"{TOPIC}-{message.partition()} at {offset}")
        leader_epoch = message.leader_epoch()
        reading.read(offset, -1 if leader_epoch is None else leader_epoch, committed, commit)

    def _taken(self, readings: Mapping[int, Reading]) -> dict[int, Portion]:
        for number, reading in readings.items():
            if reading.is_cut:
                logger.warning(
                    "event=commits-read-anew %s: %s-%d was cut before offset %d, up to where it "
                    "had been read; its commits are read from the beginning",
                    self.name,
                    TOPIC,
                    number,
                    reading.position.offset,
                )
        taken = {number: reading.take() for number, reading in readings.items()}
        return {number: portion for number, portion in taken.items() if portion is not None}

    def _note_unreadable(self, reason: str, where: str) -> None:
        """Once for each reason: what is wrong with one is wrong with thousands."""
        if reason not in self._unreadable:
            self._unreadable.add(reason)
            logger.warning(
                "event=commit-unreadable %s: %s: %s; it is left out, and what was committed "
                "before it is what other regions know",
                self.name,
                where,
                reason,
            )


def _places(positions: Mapping[int, Position]) -> list[TopicPartition]:
    return [
        TopicPartition(TOPIC, number, it.offset, leader_epoch=it.leader_epoch)
        for number, it in positions.items()
    ]
