"""The topic sluice.balance of a region's aggregate: written by operators and the balancer.

Operators write plainly; of two orders about the same thing the later counts. The balancer writes
under a transactional id of its own: a newer balancer of the region cuts the older one off, so that
no placement is made upon one that its maker has not seen.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from replicator.config.topology import KafkaCluster
from replicator.copies.kept_topic import TIMEOUT_SECONDS, KeptTopic, producer_options
from replicator.copies.log_follower import LogFollower
from replicator.placements.book import Book
from replicator.placements.records import AnyRecord, UnreadableRecord, decode, encode, key_of
from replicator.topics.admin_error import AdminError, kafka_error, translated

logger = logging.getLogger(__name__)

TOPIC = "sluice.balance"
TRANSACTION_SECONDS = 10.0
# A placement of 100 000 partitions is megabytes, and compressed to below a broker's limit.
RECORD_BYTES_MAX = 100_000_000
CUT_OFF = frozenset(
    {KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED}
)

Told = tuple[bytes, AnyRecord | None]
"""A key, and the record that it has from now on."""


class Superseded(Exception):
    """A newer balancer of this region acts. Stop; do not start again by yourself."""


class BalanceLog:
    """As operators read and write it. Blocking; makes the topic where it is missing."""

    def __init__(
        self, name: str, cluster: KafkaCluster, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        """`name` is for people: "west aggregate"."""
        self._name, self._cluster = name, cluster
        self._topic = KeptTopic(name, cluster, TOPIC, timeout_seconds)

    def make_topic(self) -> None:
        """Raises AdminError."""
        self._topic.make()

    def write(self, records: Iterable[AnyRecord], taken_back: Iterable[bytes] = ()) -> None:
        """Raises AdminError: nothing was written; or WriteUnknown: perhaps, or not all."""
        wanted: list[tuple[bytes, bytes | None]] = [
            (key_of(each), encode(each)) for each in records
        ]
        wanted += [(key, None) for key in taken_back]
        self._topic.write(wanted, look_with="sluice balance show")

    def read(self) -> Book:
        """What it says by now. Raises AdminError or LogUnreadable."""
        if not self._topic.exists:
            return Book()
        told = BalanceFollower(self._name, self._cluster).read(self._topic.timeout_seconds)
        return Book().after(told)


class BalanceFollower(LogFollower[Told]):
    """What is written, as it is written. The topic has to be there."""

    def __init__(self, name: str, cluster: KafkaCluster) -> None:
        """`name` is for people: "west aggregate"."""
        super().__init__(name, cluster, TOPIC, TOPIC, self._told)
        self._said: set[str] = set()

    def _told(self, message: Message) -> Told | None:
        key, value = message.key(), message.value()
        if not isinstance(key, bytes):
            return None
        if value is None:
            return key, None
        try:
            return key, decode(value)
        except UnreadableRecord as unreadable:
            if str(unreadable) not in self._said:
                self._said.add(str(unreadable))
                where = f"{self.name}-{message.partition()} at {message.offset()}"
                logger.warning("event=order-unreadable %s: %s; it is left out", where, unreadable)
            return None


class Publisher:
    """The balancer's pen. Blocking.

    Args:
        name: of the cluster, for people.
        region: whose balancer this is.
    """

    def __init__(self, name: str, cluster: KafkaCluster, region: str) -> None:
        self._name, self._cluster = name, cluster
        self._producer = Producer(
            {
                **producer_options(cluster, TRANSACTION_SECONDS),
                "client.id": TOPIC,
                "transactional.id": f"sluice.{region}.balancer",
                "transaction.timeout.ms": round(TRANSACTION_SECONDS * 1000),
                "compression.type": "zstd",
                "message.max.bytes": RECORD_BYTES_MAX,
            }
        )

    def open(self) -> None:
        """From here on no older balancer writes. Raises AdminError."""
        try:
            self._producer.init_transactions(TIMEOUT_SECONDS)
        except KafkaException as failure:
            raise self._meaning(failure, "taking the balancer's place") from None

    def publish(self, records: Iterable[AnyRecord], taken_back: Iterable[bytes] = ()) -> None:
        """All of it or nothing. Raises Superseded, or AdminError: it is not written."""
        try:
            self._producer.begin_transaction()
            for record in records:
                self._producer.produce(TOPIC, key=key_of(record), value=encode(record))
            for key in taken_back:
                self._producer.produce(TOPIC, key=key, value=None)
            self._producer.commit_transaction(TIMEOUT_SECONDS)
        except KafkaException as failure:
            meaning = self._meaning(failure, f"writing to {TOPIC}")
            if not isinstance(meaning, Superseded) and kafka_error(failure).txn_requires_abort():
                self._abort()
            raise meaning from None

    def _abort(self) -> None:
        try:
            self._producer.abort_transaction(TIMEOUT_SECONDS)
        except KafkaException as failure:
            raise self._meaning(failure, "taking back what was not written") from None

    def _meaning(self, failure: KafkaException, doing: str) -> Superseded | AdminError:
        error = kafka_error(failure)
        if error.code() in CUT_OFF:
            return Superseded(f"{self._name}: {doing}: {error.str()}")
        return translated(error, doing, self._name, self._cluster, None)
