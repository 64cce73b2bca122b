"""Connection of an admin client to one Kafka cluster (confluent_kafka), and why it fails."""

import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from confluent_kafka import (
    OFFSET_INVALID,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_error import (
    LOST,
    NOT_LET_IN,
    AdminError,
    AdminUnreachable,
    NotLetIn,
    Outdated,
    Refused,
    UnknownTopic,
    kafka_error,
    translated,
)

Result = TypeVar("Result")

SOCKET_TIMEOUT_MS = (10, 300_000)
"""Least and largest socket.timeout.ms that librdkafka takes."""


class LogOffset(NamedTuple):
    """Offset in a partition's log.

    Args:
        leader_epoch: in which the leader told it, if it is the end; -1: not told.
    """

    offset: int
    leader_epoch: int


def log_offset(answer: Any) -> LogOffset | None:
    """Returns the offset of an answer to ListOffsets; None for one that has none.

    A broker that was just started may leave a partition out, and librdkafka gives no error for it.
    """
    if answer.offset == OFFSET_INVALID:
        return None
    epoch = -1 if answer.leader_epoch is None else int(answer.leader_epoch)
    return LogOffset(int(answer.offset), epoch)


def socket_timeout_ms(timeout_seconds: float) -> int:
    """Returns the socket.timeout.ms of a client whose requests may take so long."""
    least, largest = SOCKET_TIMEOUT_MS
    return min(max(round(timeout_seconds * 1000), least), largest)


class AdminConnection:
    """Connection to one cluster, made when first asked.

    Every call raises AdminError within about timeout_seconds. list_offsets, which may have to ask a
    second time, raises it within three times that.
    """

    def __init__(self, name: str, cluster: KafkaCluster, timeout_seconds: float = 15.0) -> None:
        """Takes a name for people, such as "west regional"."""
        self.name = name
        self.cluster = cluster
        self.timeout_seconds = timeout_seconds
        self._complaint: KafkaError | None = None
        self._known_client: AdminClient | None = None

    def client(self) -> AdminClient:
        """Returns the client once a broker has answered; librdkafka alone would hide why none does.

        Hold the client until its requests are answered: it ends when nobody holds it, and may be
        replaced meanwhile.
        """
        known = self._known_client  # another thread may forget it
        if known is not None:
            return known
        client = self._new_client()
        deadline = time.monotonic() + self.timeout_seconds
        while True:
            left = deadline - time.monotonic()
            try:
                client.list_topics(topic="", timeout=max(0.1, min(1.0, left)))
            except KafkaException as failure:
                error = self._explained(kafka_error(failure), client)
                if left <= 0 or error.code() not in LOST:
                    raise self.translated(error, "connecting") from None
                continue
            self._known_client = client
            return client

    def _new_client(self) -> AdminClient:
        self._complaint = None  # of the client before it, if there was one
        try:
            return AdminClient(self._options())
        except (OSError, ValueError, KafkaException) as error:
            security, text = self.cluster.security, f"connecting: {error}"
            if security.is_tls or security.is_sasl:
                mend = "mend the files that its security settings name"
                raise NotLetIn(self.name, f"{text}; {mend}") from None
            raise AdminUnreachable(self.name, text) from None

    def _options(self) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.cluster.bootstrap_servers,
            "client.id": "sluice-admin",
            "error_cb": self._complain,
            # librdkafka's messages come through error_cb, and are shown once, in our words.
            "log_level": 0,
            "socket.timeout.ms": socket_timeout_ms(self.timeout_seconds),
            "reconnect.backoff.max.ms": 1000,
            **self.cluster.security.librdkafka_options(),
        }

    def _complain(self, error: KafkaError) -> None:
        # "All brokers down" adds nothing to the error before it.
        if self._complaint is None or error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._complaint = error

    def list_offsets(
        self, asked: Mapping[TopicPartition, OffsetSpec], isolation: IsolationLevel
    ) -> dict[TopicPartition, LogOffset | AdminError]:
        """Returns each partition's answer to ListOffsets, which may be a refusal.

        Each partition may ask for another kind of offset.
        """
        client = self.client()
        found = self._list_offsets(client, asked, isolation)
        again = {place: asked[place] for place, it in found.items() if isinstance(it, Outdated)}
        if again:
            if self._known_client is client:
                self._known_client = None
            found |= self._list_offsets(self.client(), again, isolation)
        return found

    def _list_offsets(
        self,
        client: AdminClient,
        asked: Mapping[TopicPartition, OffsetSpec],
        isolation: IsolationLevel,
    ) -> dict[TopicPartition, LogOffset | AdminError]:
        answers = client.list_offsets(
            dict(asked), isolation_level=isolation, request_timeout=self.timeout_seconds
        )
        found: dict[TopicPartition, LogOffset | AdminError] = {}
        for place, answer in answers.items():
            try:
                doing = f"offsets of {place.topic}-{place.partition}"
                told = log_offset(self.wait(answer, doing))
                found[place] = told or Outdated(self.name, f"{doing}: answered without an offset")
            except (UnknownTopic, Refused) as error:
                found[place] = error
        return found

    def wait(
        self, answer: "Future[Result]", doing: str, forgiven: frozenset[int] = frozenset()
    ) -> Any:
        """Returns the answer; None for a refusal that is forgiven.

        Args:
            doing: what was asked, for the error.
            forgiven: KafkaError codes.

        Raises AdminError.
        """
        try:
            # librdkafka's own timeout comes first; this one is for a librdkafka that hangs.
            return answer.result(self.timeout_seconds + 10)
        except KafkaException as failure:
            error = kafka_error(failure)
            if error.code() in forgiven:
                return None
            raise self.translated(error, doing) from None
        except TimeoutError:
            raise AdminUnreachable(self.name, f"{doing}: no answer at all") from None

    def translated(self, error: KafkaError, doing: str) -> AdminError:
        """Returns the AdminError for a KafkaError.

        After a refused login, the next question gets a new client. That client reads password and
        certificates anew, as these may have been changed.
        """
        known = self._known_client
        if known is not None:
            error = self._explained(error, known)
        if error.code() in NOT_LET_IN:
            self._known_client = None
        return translated(error, doing, self.name, self.cluster, self._complaint)

    def _explained(self, error: KafkaError, client: AdminClient) -> KafkaError:
        """Returns the login error behind a missing answer, where librdkafka reported one.

        A client that is not let in any more only sees that no answer comes. librdkafka reports the
        reason separately.
        """
        if error.code() not in LOST:
            return error
        client.poll(0.1)  # calls _complain
        complaint = self._complaint
        if complaint is None or complaint.code() not in NOT_LET_IN:
            return error
        return complaint
