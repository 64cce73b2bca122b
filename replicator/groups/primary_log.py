"""The decisions about primary regions that were made in one region: a topic of its aggregate.

They are nowhere else for certain: every Redis may be flushed, and is filled from here again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterable, Mapping

from confluent_kafka import KafkaError, Message, Producer

from replicator.config.topology import KafkaCluster
from replicator.copies.followed import Portion, Position
from replicator.copies.log_follower import LogFollower
from replicator.groups.primary_reader import PrimaryReader
from replicator.groups.primary_region import PrimaryRegion, encode, encode_key, joined
from replicator.topics.admin import Admin
from replicator.topics.admin_error import LOST, AdminError, UnknownTopic, Unreachable, translated
from replicator.topics.topic_plan import Alter, Create

logger = logging.getLogger(__name__)

TOPIC = "sluice.primary-regions"
GROUP = "sluice.primary-regions"
KEPT_FOR_EVER = ("cleanup.policy", "compact")
TIMEOUT_SECONDS = 15.0
# The producer ends by itself by then; this one is for a librdkafka that hangs.
GRACE_SECONDS = 5.0


class WriteUnknown(AdminError):
    """The answer was lost: the records may be written or not. Write them again; it does no harm."""


class PrimaryLog:
    """One region's topic. Blocking; makes the topic where it is missing."""

    def __init__(
        self, name: str, cluster: KafkaCluster, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        """`name` is for people: "west aggregate"."""
        self.name = name
        self._cluster = cluster
        self._timeout_seconds = timeout_seconds
        self._admin = Admin(name, cluster, timeout_seconds)

    def make_topic(self) -> None:
        """Has the topic there, keeping what is written for ever. Raises AdminError."""
        for topic in self._admin.topics([TOPIC]):
            if topic.configs.values.get("cleanup.policy") != KEPT_FOR_EVER[1]:
                self._keep_for_ever()
            return
        (made,) = self._admin.apply([Create(TOPIC, 1, (KEPT_FOR_EVER,), -1)])
        if made.error:
            raise made.error
        deadline = time.monotonic() + self._timeout_seconds
        while not self._admin.topics([TOPIC]):
            if time.monotonic() > deadline:
                raise UnknownTopic(self.name, f"created, and still not there: {TOPIC}")
            time.sleep(0.1)

    def write(self, records: Iterable[PrimaryRegion]) -> None:
        """Returns once they are on disk, each as safe as the topic's replicas make it.

        Raises AdminError: nothing was written; or WriteUnknown: perhaps, or not all.
        """
        self.make_topic()
        failures: list[KafkaError] = []
        wanted = list(records)
        producer = self._producer()
        for record in wanted:
            producer.produce(
                TOPIC,
                key=encode_key(record).encode(),
                value=encode(record).encode(),
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
        left = producer.flush(self._timeout_seconds + GRACE_SECONDS)
        if failures and len(failures) == len(wanted) and not any(map(_is_lost, failures)):
            raise translated(failures[0], f"writing to {TOPIC}", self.name, self._cluster, None)
        if failures or left:
            why = failures[0].str() if failures else "no answer at all"
            raise WriteUnknown(
                self.name,
                f"writing to {TOPIC}: {why}; what was decided may be recorded or not: look with "
                "`sluice groups show`, or ask for the same again",
            )

    def read(self) -> dict[str, PrimaryRegion]:
        """By group, the decision that counts of all that were written here until now.

        Raises AdminError or LogUnreadable.
        """
        if not self._admin.topics([TOPIC]):
            return {}
        began_ms = time.time_ns() // 1_000_000
        deadline = time.monotonic() + self._timeout_seconds
        awaited: set[int] | None = None
        found: list[PrimaryRegion] = []
        polls = PrimaryFollower(self.name, self._cluster).follow({})
        try:
            for portions in polls:
                awaited = set(portions) if awaited is None else awaited
                for number, portion in portions.items():
                    found += [told.record for told in portion.told]
                    if (portion.caught_up_ms or 0) >= began_ms:
                        awaited.discard(number)
                if not awaited:
                    return joined(found)
                if time.monotonic() > deadline:
                    break
        finally:
            polls.close()
        raise Unreachable(
            self.name, f"reading {TOPIC}: not read to its end in {self._timeout_seconds:g} s"
        )

    def _keep_for_ever(self) -> None:
        """Somebody else made the topic, or a producer by the broker's defaults."""
        try:
            (altered,) = self._admin.apply([Alter(TOPIC, (KEPT_FOR_EVER,))])
            error = altered.error
        except AdminError as unreachable:
            error = unreachable
        if error:
            # What was decided is recorded all the same: that cannot wait for a right.
            logger.warning(
                "event=decisions-expire %s: %s is not compacted, so its records are deleted some "
                "day; set %s=%s: %s",
                self.name,
                TOPIC,
                *KEPT_FOR_EVER,
                error,
            )

    def _producer(self) -> Producer:
        return Producer(
            {
                "bootstrap.servers": self._cluster.bootstrap_servers,
                **self._cluster.security.librdkafka_options(),
                "client.id": GROUP,
                "acks": "all",
                "enable.idempotence": True,
                "message.timeout.ms": round(self._timeout_seconds * 1000),
                "log_level": 0,
            }
        )


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


def _is_lost(error: KafkaError) -> bool:
    return error.code() in LOST or error.code() == KafkaError._MSG_TIMED_OUT
