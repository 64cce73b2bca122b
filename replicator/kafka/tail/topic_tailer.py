"""Topic tailer: reads one topic of a cluster from given positions; each poll brings what is new.

Records of a transaction are delivered once it is committed. An open transaction (decision 0010)
blocks its partition, so `caught_up_ms` stops advancing.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future
from contextlib import closing
from typing import Any, Generic, NamedTuple

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_connection import log_offset
from replicator.kafka.admin.admin_error import OUTDATED, PASSING, kafka_error
from replicator.kafka.tail.stall import STALL_SECONDS, StallWatch
from replicator.kafka.tail.tail_position import Portion, Reading, Record, TailPosition, beginnings

logger = logging.getLogger(__name__)

# Records that one poll may bring, and that a store takes in one step.
MESSAGES_PER_POLL = 5000
POLL_SECONDS = 0.1
CHECK_SECONDS = 10.0
TIMEOUT_SECONDS = 5.0

END_NOT_REACHED = (
    "its end is not reached; kafka-transactions.sh find-hanging lists open transactions"
)

Read = Callable[[Message], Record | None]
"""Returns the record of a message; None where the message carries nothing relevant."""
INTERVAL_SECONDS = 0.25
ANSWER_SECONDS_MAX = 5.0
NEW_CLIENT_SECONDS = 1.0
"""Wait before the next question when the client was made anew, and with it its connections."""


class LogUnreadable(Exception):
    """A log cannot be read just now, for the reason given. Try again later."""


class Trouble(NamedTuple):
    """Last error that passes by itself, of any partition, and when it came."""

    at: float
    error: KafkaError


class TopicTailer(Generic[Record]):
    """Tails one topic. Blocking; one follow() at a time."""

    def __init__(
        self,
        name: str,
        cluster: KafkaCluster,
        topic: str,
        group: str,
        read: Read[Record],
        *,
        admin: Admin | None = None,
        check_seconds: float = CHECK_SECONDS,
        stall_seconds: float = STALL_SECONDS,
    ) -> None:
        """Prepares the tailer; nothing is asked of the cluster yet.

        Args:
            name: for people: "west aggregate".
            group: of the consumer, because librdkafka requires a name; nothing is committed.
            read: returns the record of a message; may raise LogUnreadable.
            admin: describes the topic (default: a client of its own).
            check_seconds: time between two checks that the topic is still the same one.
            stall_seconds: silence after which a partition is reported as stalled.
        """
        self.name = f"{name}: {topic}"
        self._topic_name = topic
        self._group = group
        self._read_message = read
        self._admin = admin or Admin(name, cluster, timeout_seconds=TIMEOUT_SECONDS)
        self._check_seconds = check_seconds
        self._cluster = cluster
        self._stalls = StallWatch(stall_seconds)
        self._trouble: Trouble | None = None

    def follow(
        self, positions: Mapping[int, TailPosition]
    ) -> Generator[dict[int, Portion[Record]], None, None]:
        """Yields the news of each poll, by partition: several times a second, even without any.

        The first item has all partitions, each with the position from which it is read. Ends when
        reading has to begin anew, because the log was cut or the topic recreated. Put what
        came, and call follow() again with the positions of then. Raises AdminError or
        LogUnreadable.
        """
        topic_id, partitions = self._topic()
        begun = beginnings(positions, topic_id, partitions)
        if any(positions.get(number, it).topic_id != topic_id for number, it in begun.items()):
            logger.warning(
                "event=log-read-anew %s was recreated; reading starts anew",
                self.name,
            )
        yield {number: Portion(position, position) for number, position in begun.items()}
        readings: dict[int, Reading[Record]] = {
            number: Reading(position) for number, position in begun.items()
        }
        check_at = time.monotonic() + self._check_seconds
        refusals: Mapping[int, KafkaError] = {}
        options = self._options()
        try:
            ends = LogEnds(
                {**options, "client.id": f"{self._group}.ends"}, self._topic_name, partitions
            )
            with closing(self._consumer(options)) as consumer:
                consumer.assign(self._places(begun))
                while not any(reading.is_cut for reading in readings.values()):
                    self._poll(consumer, readings)
                    now = time.monotonic()
                    if answers := ends.poll():
                        for number, end in answers.ends.items():
                            readings[number].expect(end, answers.asked_at_ms)
                        refusals = answers.refusals
                        check_at = 0.0 if refusals else check_at
                    if now >= check_at:
                        if self._topic() != (topic_id, partitions):
                            return
                        check_at = now + self._check_seconds
                    taken = self._taken(readings)
                    self._log_stalls(partitions, taken, refusals, now)
                    yield taken
        except KafkaException as error:
            raise LogUnreadable(f"{self.name}: {error}") from error

    def read(self, timeout_seconds: float) -> list[Record]:
        """Returns every record that stands in the log by now; raises as `follow` does.

        Raises LogUnreadable also when the end is not reached within timeout_seconds.
        """
        began_ms = time.time_ns() // 1_000_000
        deadline = time.monotonic() + timeout_seconds
        awaited: set[int] | None = None
        found: list[Record] = []
        polls = self.follow({})
        try:
            for portions in polls:
                awaited = set(portions) if awaited is None else awaited
                for number, portion in portions.items():
                    found += [told.record for told in portion.told]
                    if (portion.caught_up_ms or 0) >= began_ms:
                        awaited.discard(number)
                if not awaited:
                    return found
                if time.monotonic() > deadline:
                    break
        finally:
            polls.close()
        raise LogUnreadable(f"{self.name}: not read to its end in {timeout_seconds:g} s")

    def _topic(self) -> tuple[str, range]:
        """Returns the topic's id and its partitions."""
        for topic in self._admin.topics([self._topic_name]):
            if topic.topic_id is not None:
                return topic.topic_id.hex, range(topic.partitions)
        raise LogUnreadable(f"{self.name}: there is no such topic yet")

    def _options(self) -> dict[str, Any]:
        """Returns the client options; reads the password anew, which may have been changed."""
        try:
            security = self._cluster.security.librdkafka_options()
        except (OSError, ValueError) as error:
            raise LogUnreadable(f"{self.name}: {error}; mend password_file") from None
        return {
            "bootstrap.servers": self._cluster.bootstrap_servers,
            **security,
            "log_level": 0,
            "reconnect.backoff.max.ms": 1000,
        }

    def _consumer(self, options: Mapping[str, Any]) -> Consumer:
        return Consumer(
            {
                **options,
                "group.id": self._group,
                "client.id": self._group,
                "enable.auto.commit": False,
                # After a cut, the records that come then lie before the position, which Reading
                # notices.
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )

    def _places(self, positions: Mapping[int, TailPosition]) -> list[TopicPartition]:
        return [
            TopicPartition(self._topic_name, number, it.offset, leader_epoch=it.leader_epoch)
            for number, it in positions.items()
        ]

    def _poll(self, consumer: Consumer, readings: Mapping[int, Reading[Record]]) -> None:
        for message in consumer.consume(MESSAGES_PER_POLL, timeout=POLL_SECONDS):
            error = message.error()
            if error is None:
                leader_epoch = message.leader_epoch()
                readings[int(message.partition() or 0)].read(
                    int(message.offset() or 0),
                    -1 if leader_epoch is None else leader_epoch,
                    self._read_message(message),
                )
            elif error.code() == KafkaError._PARTITION_EOF:
                readings[int(message.partition() or 0)].reach(int(message.offset() or 0))
            elif error.code() in PASSING:
                self._trouble = Trouble(time.monotonic(), error)
            else:
                raise KafkaException(error)

    def _log_stalls(
        self,
        partitions: Iterable[int],
        news: Mapping[int, object],
        refusals: Mapping[int, KafkaError],
        now: float,
    ) -> None:
        if recovered := self._stalls.recovered(news):
            logger.warning("event=log-moves-again %s partitions=%s", self.name, _listed(recovered))
        by_reason = defaultdict(list)
        for number in self._stalls.newly_stalled(partitions, now):
            refusal = refusals.get(number)
            by_reason[refusal.str() if refusal else self._stall_reason(now)].append(number)
        for why, numbers in by_reason.items():
            logger.warning(
                "event=log-stands-still %s partitions=%s: nothing for %g s: %s",
                self.name,
                _listed(numbers),
                self._stalls.seconds,
                why,
            )

    def _stall_reason(self, now: float) -> str:
        trouble = self._trouble
        if trouble is None or now - trouble.at >= self._stalls.seconds:
            return END_NOT_REACHED
        return f"{END_NOT_REACHED}; the last error of a broker was: {trouble.error.str()}"

    def _taken(self, readings: Mapping[int, Reading[Record]]) -> dict[int, Portion[Record]]:
        for number, reading in readings.items():
            if reading.is_cut:
                logger.warning(
                    "event=log-read-anew %s-%d was cut before offset %d, up to where it had been "
                    "read; it is read from the beginning",
                    self.name,
                    number,
                    reading.position.offset,
                )
        taken = {number: reading.take() for number, reading in readings.items()}
        return {number: portion for number, portion in taken.items() if portion is not None}


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


class Ends(NamedTuple):
    """Answers to one question.

    Args:
        asked_at_ms: when the question was asked.
        ends: by partition, the next offset to be written at that time.
        refusals: by partition, the error that came instead.
    """

    asked_at_ms: int
    ends: Mapping[int, int]
    refusals: Mapping[int, KafkaError]


class LogEnds:
    """Asks for log ends, one question at a time; the client's own thread waits for the answers."""

    def __init__(self, options: Mapping[str, Any], topic: str, partitions: Iterable[int]) -> None:
        """Takes confluent_kafka's options."""
        self._options = dict(options)
        self._client = AdminClient(self._options)
        self._partitions = [TopicPartition(topic, number) for number in partitions]
        self._asked_at_ms = 0
        self._next_at = 0.0
        self._answers: Mapping[TopicPartition, Future[Any]] | None = None

    def poll(self) -> Ends | None:
        """Returns the answers to a question, once; asks the next one when due. Never waits."""
        if self._answers is None:
            if time.monotonic() >= self._next_at:
                self._ask()
            return None
        if not all(answer.done() for answer in self._answers.values()):
            return None
        ends: dict[int, int] = {}
        refusals: dict[int, KafkaError] = {}
        for partition, answer in self._answers.items():
            try:
                if (end := log_offset(answer.result())) is not None:
                    ends[partition.partition] = end.offset
            except KafkaException as failure:
                refusals[partition.partition] = kafka_error(failure)
        self._answers = None
        if any(error.code() in OUTDATED for error in refusals.values()):
            self._client = AdminClient(self._options)
            self._next_at = time.monotonic() + NEW_CLIENT_SECONDS
        return Ends(self._asked_at_ms, ends, refusals)

    def _ask(self) -> None:
        self._next_at = time.monotonic() + INTERVAL_SECONDS
        # Taken before asking: the answer covers at least everything written until then.
        self._asked_at_ms = time.time_ns() // 1_000_000
        self._answers = self._client.list_offsets(
            {partition: OffsetSpec.latest() for partition in self._partitions},
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=ANSWER_SECONDS_MAX,
        )
