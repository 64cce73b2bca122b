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
from replicator.placements.flaws import flaw
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

NOT_YET = frozenset(
    {
        KafkaError.CONCURRENT_TRANSACTIONS,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
    }
)
"""InitProducerId: the coordinator loads, or completes the transaction of the balancer before."""

Told = tuple[bytes, AnyRecord | None]
"""A key, and the record that it has from now on."""


class Superseded(Exception):
    """A newer balancer of this region acts. Stop; do not start again by yourself."""


class NotYet(AdminError):
    """The coordinator of the balancer's transactional id is not ready. Ask again."""


class FlawedRecord(ValueError):
    """A record that the driver or the balancer could not follow. Mend it; the text says how."""


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
        """Raises FlawedRecord or AdminError: nothing was written; or WriteUnknown: perhaps, or not
        all."""
        wanted: list[tuple[bytes, bytes | None]] = [
            (key_of(each), encode(_sound(key_of(each), each))) for each in records
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
        where = f"{self.name}-{message.partition()} at {message.offset()}"
        try:
            return key, _sound(key, decode(value))
        except UnreadableRecord as unreadable:
            if self._is_news(str(unreadable)):
                logger.warning("event=order-unreadable %s: %s; it is left out", where, unreadable)
        except FlawedRecord as flawed:
            if self._is_news(str(flawed)):
                logger.warning("event=order-flawed %s: %s; it is left out", where, flawed)
        return None

    def _is_news(self, text: str) -> bool:
        is_news = text not in self._said
        self._said.add(text)
        return is_news


def _sound(key: bytes, record: AnyRecord) -> AnyRecord:
    """Raises FlawedRecord."""
    own = key_of(record)
    wrong = flaw(record) if key == own else "its key belongs to another record"
    if wrong:
        raise FlawedRecord(f"{own.decode()} written by {record.who!r}: {wrong}")
    return record


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
        """From here on no older balancer writes. Raises NotYet or another AdminError; it may be
        called again."""
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
        if error.code() in NOT_YET:
            return NotYet(self._name, f"{doing}: {error.str()} ({error.name()})")
        return translated(error, doing, self._name, self._cluster, None)
