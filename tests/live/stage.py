"""Replication of one topic between two clusters, with the carriers that a test starts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Int64,
    Schema,
)
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import NewTopic

from balancer.topic_partition import TopicPartition
from deploy.lab.compare import RouteVerdict
from deploy.lab.dump import compare_topic, dump
from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import PLAIN, Shape, records, send
from deploy.lab.wait import until
from replicator.config.topology import Route
from replicator.kafka.client.cluster import TRANSACTION, Cluster
from replicator.kafka.protocol.fields import TAGS, TOPIC, rows
from replicator.mirror.ledger.entry import Entry
from tests.live.carrying import Carrying
from tests.live.hand import Hand

SELDOM: Mapping[str, object] = {"ledger_seconds": 600.0, "runs_seconds": 60.0}
"""Replicator settings that delay ledger entries and runs. An entry is written when a partition is
acquired, and after that only when one is required or after 600 s."""
SEGMENT_SECONDS = 600
COMPACTED: Mapping[str, str] = {
    "cleanup.policy": "compact",
    "segment.ms": str(SEGMENT_SECONDS * 1000),
}
"""Topic config of a compacted target. The cleaner compacts only what `Stage.compact_target` has
closed; nothing else is compacted within the time of a test."""
PATIENCE_SECONDS = 60.0


ID_NOT_FOUND = 105


class DescribeTransactionsResponse(Response):
    API_KEY = 65
    API_VERSION = 0
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        rows(
            "states",
            ("error_code", Int16),
            ("transactional_id", CompactString()),
            ("state", CompactString()),
            ("timeout_ms", Int32),
            ("started_ms", Int64),
            ("producer_id", Int64),
            ("producer_epoch", Int16),
            rows("topics", TOPIC, ("partitions", CompactArray(Int32))),
        ),
        TAGS,
    )


class DescribeTransactionsStruct(RequestStruct):
    API_KEY = 65
    API_VERSION = 0
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = DescribeTransactionsResponse
    SCHEMA = Schema(("transactional_ids", CompactArray(CompactString())), TAGS)


class DescribeTransactionsRequest(Request[DescribeTransactionsStruct]):
    """DescribeTransactions: state of transactional ids at their coordinator."""

    API_KEY = 65

    def __init__(self, names: list[str]):
        self._names = names

    def build(
        self, request_struct_class: type[DescribeTransactionsStruct]
    ) -> DescribeTransactionsStruct:
        return request_struct_class(self._names, {})


async def is_id_forgotten(cluster: Cluster, transactional_id: str) -> bool:
    """Returns True once the coordinator of a transactional id knows nothing of it any more."""
    request = DescribeTransactionsRequest([transactional_id])
    found = await cluster.ask_coordinator(TRANSACTION, transactional_id, request, lambda _: [])
    return bool(found.states[0][0] == ID_NOT_FOUND)


class Stage:
    """A topic (of one partition by default) on both clusters, and carriers by number.

    Args:
        carrying: has one route, from `source` to `target`.
        topic: exists on both clusters and is adopted.
        source_dies: True if the source's brokers may die.
    """

    def __init__(
        self,
        source: KafkaCluster,
        target: KafkaCluster,
        carrying: Carrying,
        topic: str,
        *,
        source_dies: bool = True,
    ) -> None:
        self.source, self.target, self.carrying, self.topic = source, target, carrying, topic
        self._source_dies = source_dies
        self.place = TopicPartition(topic, 0)
        self._sent = 0
        self.hands: list[Hand] = []

    def send(
        self,
        count: int,
        shape: Shape = PLAIN,
        *,
        first_timestamp_ms: int | None = None,
        keys: int = 0,
    ) -> int:
        """Sends `count` more records to the source and returns the total sent so far.

        Args:
            keys: number of distinct keys, used in turn (0: no keys). A compacted topic rejects
                records without a key.
        """
        begin = self._sent
        traffic = records(
            count, seed=begin, origin=str(begin), first_timestamp_ms=first_timestamp_ms
        )
        if keys:
            traffic = (
                replace(record, key=b"%d" % (number % keys), value=b"%d" % number)
                for number, record in enumerate(traffic, begin)
            )
        self._sent += send(self.source, self.topic, traffic, shape, is_idempotent=self._source_dies)
        return self._sent

    # -- carriers

    def hand(self, number: int, **settings: Any) -> Hand:
        """Returns a carrier that is not started yet; `close` ends it."""
        hand = Hand(self.carrying, number, **settings)
        self.hands.append(hand)
        return hand

    def left_behind(
        self,
        number: int = 0,
        count: int = 1000,
        shape: Shape = PLAIN,
        keys: int = 0,
        **settings: Any,
    ) -> Hand:
        """Returns a carrier that was killed after it carried `count` records. Its ledger entry does
        not cover these records yet."""
        hand = self.hand(number, **SELDOM, **settings).start()
        hand.until(lambda: self.place in hand.pipelines)
        self.send(count, shape, keys=keys)
        hand.until_carried(self.place)
        hand.kill()
        return hand

    def to_the_end(self, number: int, **settings: Any) -> Hand:
        """Starts a carrier; returns once it has carried everything, and leaves it running."""
        hand = self.hand(number, **settings).start()
        hand.until_carried(self.place)
        return hand

    def close(self) -> None:
        for hand in self.hands:
            hand.close()

    # -- changes at the target

    def recreate(self) -> None:
        """Deletes the topic at the target and creates it again under the same name."""
        admin = self.target.admin()
        admin.delete_topics([self.topic])[self.topic].result(30)
        new = NewTopic(self.topic, 1)

        def is_created() -> bool:
            try:
                admin.create_topics([new])[self.topic].result(30)
                return True
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
                return False

        self.until(is_created)

    def foreign(self, count: int, *, keys: int = 0) -> None:
        """Produces records of another producer to the target.

        Args:
            keys: number of distinct keys, the same as those of `send` (0: no keys).
        """
        producer = Producer(self.target.librdkafka_options())

        def is_taken() -> bool:
            told: list[object] = []
            for number in range(count):
                producer.produce(
                    self.topic,
                    f"foreign {number}",
                    key=b"%d" % (number % keys) if keys else None,
                    partition=0,
                    on_delivery=lambda error, _: told.append(error),
                )
            producer.flush(30)
            return told == [None] * count

        self.until(is_taken)

    def delete_target_records(self, before: int) -> None:
        """Deletes the records before offset `before`, as retention does."""
        admin, where = self.target.admin(), KafkaTopicPartition(self.topic, 0, before)
        admin.delete_records([where])[where].result(30)

    def compact_target(self, left: int) -> None:
        """Waits until the log cleaner has compacted everything that a COMPACTED target holds.

        Args:
            left: records that remain after compaction.
        """
        producer = Producer({**self.target.librdkafka_options(), "enable.idempotence": True})
        # The cleaner compacts closed segments only. A segment is closed by the next record once it
        # is old enough, and the age is computed from record timestamps.
        later = int(time.time() + 2 * SEGMENT_SECONDS) * 1000
        producer.produce(self.topic, b"", key=b"closes the segment", partition=0, timestamp=later)
        assert producer.flush(30) == 0
        self.until(lambda: len(dump(self.target, self.topic)[0].offsets) == left + 1)

    def until_forgotten(self, hand: Hand) -> None:
        """Waits until the target has expired the carrier's producer state."""
        (producer_id, _), cluster = hand.producer, self.carrying.cluster

        def is_forgotten() -> bool:
            states = self.carrying.wait(cluster.producer_states(*self.place))
            return producer_id not in states

        assert until(is_forgotten, PATIENCE_SECONDS)

    def until_remembered(self, hand: Hand, records: int) -> None:
        """Waits until the target's leader has appended `records` records of the carrier's producer.
        The producer has sent all of them; no other replica needs to hold one."""
        cluster, (producer_id, _) = self.carrying.cluster, hand.producer

        def is_remembered() -> bool:
            states = self.carrying.wait(cluster.producer_states(*self.place))
            return states[producer_id].last_sequence == records - 1

        assert until(is_remembered, PATIENCE_SECONDS)

    def until_id_forgotten(self, hand: Hand) -> None:
        """Waits until the target has expired the carrier's transactional id."""
        name, cluster = hand.session.fenced_committer.transactional_id, self.carrying.cluster

        def is_forgotten() -> bool:
            return self.carrying.wait(is_id_forgotten(cluster, name))

        assert until(is_forgotten, PATIENCE_SECONDS)

    def renew(self) -> None:
        """Commits the driver command and the witness again, as a driver does periodically."""
        driver = self.carrying.driver
        (ledger,) = self.carrying.ledgers.values()
        self.carrying.wait(driver.publish(self.carrying.plan_version))
        self.carrying.wait(driver.commit(ledger.witness(self.topic, 1)))

    def until_entry_forgotten(self, beside: Stage) -> None:
        """Waits until the target has expired the committed offset that is the partition's entry."""

        def is_forgotten() -> bool:
            self.renew()
            beside.renew()
            return not self.carrying.entries()

        assert until(is_forgotten, 2 * PATIENCE_SECONDS, 0.5)

    def until(self, condition: Callable[[], bool]) -> None:
        assert until(condition, PATIENCE_SECONDS)

    # -- results

    @property
    def route(self) -> Route:
        (route,) = self.carrying.routes.values()
        return route

    @property
    def entry(self) -> Entry:
        return self.carrying.entries()[self.place]

    def assert_exact(self) -> None:
        """Ends every carrier, then checks that no record is lost, repeated, reordered or changed.

        Raises RecordsDiffer.
        """
        for hand in self.hands:
            hand.kill_if_running()
        compared = compare_topic({"west": self.source}, self.target, self.topic)
        for comparison in compared.values():
            comparison.total.assert_exact()

    def seen(self) -> RouteVerdict:
        """Returns record counts as read with read_uncommitted; carriers may still run."""
        found = compare_topic({"west": self.source}, self.target, self.topic, ["read_uncommitted"])
        return found["read_uncommitted"].total


def make_on_both(
    source: KafkaCluster,
    target: KafkaCluster,
    topic: str,
    partitions: int = 1,
    source_config: Mapping[str, str] | None = None,
    target_config: Mapping[str, str] | None = None,
    replication_factor: int = -1,
    target_replicas: Sequence[Sequence[int]] | None = None,
) -> None:
    """Creates the topic on both ends, by default with the cluster's default replication factor."""
    placed: Any = {"replication_factor": replication_factor}
    if target_replicas:
        placed = {"replica_assignment": target_replicas}
    source.create_topics(
        NewTopic(topic, partitions, replication_factor, config=dict(source_config or {}))
    )
    target.create_topics(NewTopic(topic, partitions, config=dict(target_config or {}), **placed))
