"""Compacted topic of one partition, which keeps the newest record of every key for ever."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import (
    LOST,
    NOT_AUTHORIZED,
    AdminError,
    UnknownTopic,
    kafka_error,
    translated,
)
from replicator.kafka.admin.topic_changes import Alter, Create

logger = logging.getLogger(__name__)

KEPT_FOR_EVER = ("cleanup.policy", "compact")
TIMEOUT_SECONDS = 15.0
# The producer gives up by itself before; the grace is for a librdkafka that hangs.
GRACE_SECONDS = 5.0


class WriteUnknown(AdminError):
    """The answer was lost: the records may be written or not. Write them again; it does no harm."""


class CompactedTopic:
    """Compacted topic of one cluster. Blocking; the topic is created where it is missing."""

    def __init__(
        self,
        cluster_name: str,
        cluster: KafkaCluster,
        topic: str,
        timeout_seconds: float = TIMEOUT_SECONDS,
        *,
        admin: Admin | None = None,
        open_producer: Callable[[dict[str, Any]], Producer] = Producer,
    ) -> None:
        """Takes the cluster's name for people, such as "west aggregate".

        Args:
            admin: client of the cluster; by default one is made.
            open_producer: makes a producer of confluent_kafka's options.
        """
        self.topic = topic
        self.timeout_seconds = timeout_seconds
        self._cluster = cluster
        self._admin = admin or Admin(cluster_name, cluster, timeout_seconds)
        self._open_producer = open_producer

    @property
    def exists(self) -> bool:
        """True when the topic exists; raises AdminError."""
        return bool(self._admin.topics([self.topic]))

    def make(self) -> None:
        """Creates the topic if it is missing, and makes it compacted. Raises AdminError."""
        for topic in self._admin.topics([self.topic]):
            if topic.configs.values.get("cleanup.policy") != KEPT_FOR_EVER[1]:
                self._keep_for_ever()
            return
        (made,) = self._admin.apply([Create(self.topic, 1, (KEPT_FOR_EVER,), -1)])
        if made.error:
            raise made.error
        deadline = time.monotonic() + self.timeout_seconds
        while not self.exists:
            if time.monotonic() > deadline:
                raise UnknownTopic(self._admin.name, f"created, and still not there: {self.topic}")
            time.sleep(0.1)

    def write(self, records: Iterable[tuple[bytes, bytes | None]], look_with: str) -> None:
        """Returns once the records are on disk, each as safe as the topic's replicas make it.

        Args:
            records: keys and values; the value None deletes the key.
            look_with: the command that shows what is written, for the error's text.

        Raises AdminError when nothing was written, and WriteUnknown when all or some may be.
        """
        self.make()
        failures: list[KafkaError] = []
        wanted = list(records)
        producer = self._open_producer(
            {
                **producer_options(self._cluster, self.timeout_seconds),
                "client.id": self.topic,
                "acks": "all",
                "enable.idempotence": True,
            }
        )
        for key, value in wanted:
            producer.produce(
                self.topic,
                key=key,
                value=value,
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
        doing, name = f"writing to {self.topic}", self._admin.name
        try:
            left, fatal = producer.flush(self.timeout_seconds + GRACE_SECONDS), None
        except (KafkaException, SystemError) as error:
            # Raised out of a callback, from where Python may wrap it into a SystemError.
            left, fatal = len(wanted), _fatal(error)
        if fatal is not None and fatal.code() in NOT_AUTHORIZED:
            raise translated(fatal, doing, name, self._cluster, None)
        if (
            failures
            and len(failures) == len(wanted)
            and not (fatal or any(map(_is_lost, failures)))
        ):
            raise translated(failures[0], doing, name, self._cluster, None)
        if failures or left:
            why = (fatal or failures[0]).str() if fatal or failures else "no answer at all"
            raise WriteUnknown(
                name,
                f"{doing}: {why}; the decision may be recorded or not: check with "
                f"`{look_with}`, or run the same command again",
            )

    def _keep_for_ever(self) -> None:
        """Makes a topic compacted that somebody else created, or the broker for a producer."""
        try:
            (altered,) = self._admin.apply([Alter(self.topic, (KEPT_FOR_EVER,))])
            error = altered.error
        except AdminError as unreachable:
            error = unreachable
        if error:
            # Decisions are recorded all the same: they cannot wait until a right is granted.
            logger.warning(
                "event=decisions-expire %s: %s is not compacted, so its records will expire; "
                "set %s=%s: %s",
                self._admin.name,
                self.topic,
                *KEPT_FOR_EVER,
                error,
            )


def producer_options(cluster: KafkaCluster, timeout_seconds: float) -> dict[str, str | int]:
    """Returns the options of every producer of ours that people wait for."""
    return {
        "bootstrap.servers": cluster.bootstrap_servers,
        **cluster.security.librdkafka_options(),
        "message.timeout.ms": round(timeout_seconds * 1000),
        "log_level": 0,
    }


def _fatal(error: BaseException) -> KafkaError:
    """Returns the error of a producer that cannot go on. Raises any other error."""
    inside = error if isinstance(error, KafkaException) else error.__cause__
    if not isinstance(inside, KafkaException):
        raise error
    return kafka_error(inside)


def _is_lost(error: KafkaError) -> bool:
    return error.code() in LOST or error.code() == KafkaError._MSG_TIMED_OUT
