"""Topic sluice.balance of a region's aggregate, written by operators and the balancer.

Operators write without a transaction: the later of two orders about the same subject wins. The
balancer writes under a transactional id of its own, so a newer balancer of the region fences the
older one. No balancer can place upon a placement that it has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from replicator.config.names import BALANCE_TOPIC, balancer_id
from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_error import AdminError, kafka_error, translated
from replicator.kafka.tail.compacted_topic import TIMEOUT_SECONDS, CompactedTopic, producer_options
from replicator.kafka.tail.topic_tailer import TopicTailer
from replicator.orders.order_log import KeyedRecord, OrderLog
from replicator.orders.order_reader import OrderReader, checked
from replicator.orders.order_records import AnyRecord, encode, key_of

TRANSACTION_SECONDS = 10.0
# A placement of 100 000 partitions takes megabytes. It is compressed to less than the size limit of
# the broker.
RECORD_BYTES_MAX = 100_000_000
FENCED = frozenset(
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
"""Errors of InitProducerId while the coordinator loads, or completes the transaction of the
previous balancer."""


class Superseded(Exception):
    """A newer balancer of this region is active. Stop; do not restart automatically."""


class NotYet(AdminError):
    """The coordinator of the balancer's transactional id is not ready. Retry."""


class BalanceLog:
    """Access of operators to the topic. Blocking; creates a missing topic."""

    def __init__(
        self, name: str, cluster: KafkaCluster, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        """`name` is shown to people, for example "west aggregate"."""
        self._name, self._cluster = name, cluster
        self._topic = CompactedTopic(name, cluster, BALANCE_TOPIC, timeout_seconds)

    def make_topic(self) -> None:
        """Creates the topic unless it exists. Raises AdminError."""
        self._topic.make()

    def write(self, records: Iterable[AnyRecord], tombstones: Iterable[bytes] = ()) -> None:
        """Writes records, and tombstones for keys.

        Raises:
            FlawedRecord, AdminError: nothing was written.
            WriteUnknown: all, some or none of it may be written.
        """
        wanted: list[tuple[bytes, bytes | None]] = [
            (key_of(each), encode(checked(key_of(each), each))) for each in records
        ]
        wanted += [(key, None) for key in tombstones]
        self._topic.write(wanted, look_with="sluice balance show")

    def read(self) -> OrderLog:
        """Returns the order log as it is now. Raises AdminError or LogUnreadable."""
        if not self._topic.exists:
            return OrderLog()
        tailer = BalanceTailer(self._name, self._cluster)
        return OrderLog().after(tailer.read(self._topic.timeout_seconds))


class BalanceTailer(TopicTailer[KeyedRecord]):
    """Tailer of the topic, which has to exist. Logs unreadable and flawed records, and leaves them
    out."""

    def __init__(self, name: str, cluster: KafkaCluster) -> None:
        """`name` is shown to people, for example "west aggregate"."""
        super().__init__(name, cluster, BALANCE_TOPIC, BALANCE_TOPIC, self._decoded)
        self._reader = OrderReader()

    def _decoded(self, message: Message) -> KeyedRecord | None:
        where = f"{self.name}-{message.partition()} at {message.offset()}"
        return self._reader.read(message.key(), message.value(), where)


class Publisher:
    """Transactional producer of the balancer. Blocking.

    Args:
        name: of the cluster, shown to people.
        region: the region of this balancer.
        open_producer: makes a producer of confluent_kafka's options.
    """

    def __init__(
        self,
        name: str,
        cluster: KafkaCluster,
        region: str,
        open_producer: Callable[[dict[str, Any]], Producer] = Producer,
    ) -> None:
        self._name, self._cluster = name, cluster
        self._producer = open_producer(
            {
                **producer_options(cluster, TRANSACTION_SECONDS),
                "client.id": BALANCE_TOPIC,
                "transactional.id": balancer_id(region),
                "transaction.timeout.ms": round(TRANSACTION_SECONDS * 1000),
                "compression.type": "zstd",
                "message.max.bytes": RECORD_BYTES_MAX,
            }
        )

    def open(self) -> None:
        """Fences all older balancers of the region. Raises NotYet or another AdminError; may be
        called again."""
        try:
            self._producer.init_transactions(TIMEOUT_SECONDS)
        except KafkaException as failure:
            raise self._meaning(failure, "fencing older balancers") from None

    def publish(self, records: Iterable[AnyRecord], tombstones: Iterable[bytes] = ()) -> None:
        """Writes all records and tombstones in one transaction.

        Raises:
            Superseded: a newer balancer is active.
            AdminError: the records may not be written; read the topic to learn the outcome.
        """
        try:
            self._producer.begin_transaction()
            for record in records:
                self._producer.produce(BALANCE_TOPIC, key=key_of(record), value=encode(record))
            for key in tombstones:
                self._producer.produce(BALANCE_TOPIC, key=key, value=None)
            self._producer.commit_transaction(TIMEOUT_SECONDS)
        except KafkaException as failure:
            meaning = self._meaning(failure, f"writing to {BALANCE_TOPIC}")
            if not isinstance(meaning, Superseded) and kafka_error(failure).txn_requires_abort():
                self._abort()
            raise meaning from None

    def _abort(self) -> None:
        try:
            self._producer.abort_transaction(TIMEOUT_SECONDS)
        except KafkaException as failure:
            raise self._meaning(failure, "aborting the transaction") from None

    def _meaning(self, failure: KafkaException, doing: str) -> Superseded | AdminError:
        error = kafka_error(failure)
        if error.code() in FENCED:
            return Superseded(f"{self._name}: {doing}: {error.str()}")
        if error.code() in NOT_YET:
            return NotYet(self._name, f"{doing}: {error.str()} ({error.name()})")
        return translated(error, doing, self._name, self._cluster, None)
