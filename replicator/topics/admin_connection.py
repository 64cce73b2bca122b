"""An admin client of one Kafka cluster that says why it gets no answer (confluent_kafka)."""

import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from replicator.config.topology import KafkaCluster
from replicator.topics.admin_error import (
    LOST,
    NOT_LET_IN,
    AdminError,
    NotLetIn,
    Outdated,
    Refused,
    UnknownTopic,
    Unreachable,
    kafka_error,
    translated,
)

Result = TypeVar("Result")


class AdminConnection:
    """Connects when first asked. Every call raises AdminError within about timeout_seconds; where
    it has to ask a second time (list_offsets), within three times that."""

    def __init__(self, name: str, cluster: KafkaCluster, timeout_seconds: float = 15.0) -> None:
        """`name` is for people: "west regional"."""
        self.name = name
        self.cluster = cluster
        self.timeout_seconds = timeout_seconds
        self._complaint: KafkaError | None = None
        self._known_client: AdminClient | None = None

    def client(self) -> AdminClient:
        """The client, once a broker has answered; librdkafka alone would hide why none does.

        To be held until what it is asked is answered: it ends with the last who holds it, and may
        be replaced meanwhile.
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
            raise Unreachable(self.name, text) from None

    def _options(self) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.cluster.bootstrap_servers,
            "client.id": "sluice-admin",
            "error_cb": self._complain,
            # Its messages come through error_cb, and are shown once, in our words.
            "log_level": 0,
            "socket.timeout.ms": round(self.timeout_seconds * 1000),
            "reconnect.backoff.max.ms": 1000,
            **self.cluster.security.librdkafka_options(),
        }

    def _complain(self, error: KafkaError) -> None:
        # "All brokers down" only repeats what the error before it explained.
        if self._complaint is None or error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._complaint = error

    def list_offsets(
        self, asked: Mapping[TopicPartition, OffsetSpec], isolation: IsolationLevel
    ) -> dict[TopicPartition, int | AdminError]:
        """ListOffsets: what each partition answers, which may be a refusal.

        Partitions may differ in what is asked.
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
    ) -> dict[TopicPartition, int | AdminError]:
        answers = client.list_offsets(
            dict(asked), isolation_level=isolation, request_timeout=self.timeout_seconds
        )
        found: dict[TopicPartition, int | AdminError] = {}
        for place, answer in answers.items():
            try:
                doing = f"offsets of {place.topic}-{place.partition}"
                found[place] = int(self.wait(answer, doing).offset)
            except (UnknownTopic, Refused) as error:
                found[place] = error
        return found

    def wait(
        self, answer: "Future[Result]", doing: str, forgiven: frozenset[int] = frozenset()
    ) -> Any:
        """The answer; None for a refusal that is forgiven.

        Args:
            doing: what was asked, for the error.
            forgiven: KafkaError codes.
        """
        try:
            # librdkafka ends it by its own timeout; this one is for a librdkafka that hangs.
            return answer.result(self.timeout_seconds + 10)
        except KafkaException as failure:
            error = kafka_error(failure)
            if error.code() in forgiven:
                return None
            raise self.translated(error, doing) from None
        except TimeoutError:
            raise Unreachable(self.name, f"{doing}: no answer at all") from None

    def translated(self, error: KafkaError, doing: str) -> AdminError:
        """What it means. Where a broker did not let us in the next question has a new client, which
        reads password and certificates anew: these may have been changed."""
        known = self._known_client
        if known is not None:
            error = self._explained(error, known)
        if error.code() in NOT_LET_IN:
            self._known_client = None
        return translated(error, doing, self.name, self.cluster, self._complaint)

    def _explained(self, error: KafkaError, client: AdminClient) -> KafkaError:
        """Who is not let in any more only sees that no answer comes: librdkafka tells why by
        itself."""
        if error.code() not in LOST:
            return error
        client.poll(0.1)  # calls _complain
        complaint = self._complaint
        if complaint is None or complaint.code() not in NOT_LET_IN:
            return error
        return complaint
