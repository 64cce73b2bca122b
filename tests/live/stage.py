"""One topic on its way between two clusters, and the carriers that a test sets on it."""

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
    TaggedFields,
)
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import NewTopic

from balancer.plan import TopicPartition
from deploy.lab.compare import RouteVerdict
from deploy.lab.dump import compare_topic, dump
from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import PLAIN, Shape, records, send
from deploy.lab.wait import until
from replicator.config.topology import Route
from replicator.kafka.cluster import TRANSACTION
from replicator.ledger.entry import Entry
from tests.live.carrying import Carrying
from tests.live.hand import Hand

SELDOM: Mapping[str, object] = {"ledger_seconds": 600.0, "runs_seconds": 60.0}
"""Entries are written when a partition is taken, and then not before it must be."""
SEGMENT_SECONDS = 600
COMPACTED: Mapping[str, str] = {
    "cleanup.policy": "compact",
    "segment.ms": str(SEGMENT_SECONDS * 1000),
}
"""A target that `Stage.compact_target` has cleaned, and nothing else within a test's time."""
PATIENCE_SECONDS = 60.0


ID_NOT_FOUND = 105


class DescribeTransactionsResponse(Response):
    API_KEY = 65
    API_VERSION = 0
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "states",
            CompactArray(
                ("error_code", Int16),
                ("transactional_id", CompactString()),
                ("state", CompactString()),
                ("timeout_ms", Int32),
                ("started_ms", Int64),
                ("producer_id", Int64),
                ("producer_epoch", Int16),
                (
                    "topics",
                    CompactArray(
                        ("topic", CompactString()),
                        ("partitions", CompactArray(Int32)),
                        ("tags", TaggedFields),
                    ),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class DescribeTransactionsStruct(RequestStruct):
    API_KEY = 65
    API_VERSION = 0
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = DescribeTransactionsResponse
    SCHEMA = Schema(("transactional_ids", CompactArray(CompactString())), ("tags", TaggedFields))


class DescribeTransactionsRequest(Request[DescribeTransactionsStruct]):
    """What a coordinator knows of transactional ids."""

    API_KEY = 65

    def __init__(self, names: list[str]):
        self._names = names

    def build(
        self, request_struct_class: type[DescribeTransactionsStruct]
    ) -> DescribeTransactionsStruct:
        return request_struct_class(self._names, {})


class Stage:
    """A topic of one partition unless said; carriers by number.

    Args:
        carrying: knows one route, from `source` to `target`.
        topic: is on both of them, and adopted.
    """

    def __init__(self, source: KafkaCluster, target: KafkaCluster, carrying: Carrying, topic: str):
        self.source, self.target, self.carrying, self.topic = source, target, carrying, topic
        self.place = TopicPartition(topic, 0)
        self._sent = 0
        self._hands: list[Hand] = []

    def send(
        self,
        count: int,
        shape: Shape = PLAIN,
        *,
        first_timestamp_ms: int | None = None,
        keys: int = 0,
    ) -> int:
        """More records; how many there are by now.

        Args:
            keys: so many, in turn: a compacted topic takes no record without one.
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
        self._sent += send(self.source, self.topic, traffic, shape)
        return self._sent

    # -- carriers

    def hand(self, number: int, **settings: object) -> Hand:
        """A carrier, not started; ended with the stage."""
        hand = Hand(self.carrying, number, **settings)  # type: ignore[arg-type]
        self._hands.append(hand)
        return hand

    def left_behind(
        self, number: int = 0, count: int = 1000, shape: Shape = PLAIN, keys: int = 0
    ) -> Hand:
        """A carrier that carried so much and was killed: its entry says nothing of that yet."""
        hand = self.hand(number, **SELDOM).start()
        hand.until(lambda: self.place in hand.lanes)
        self.send(count, shape, keys=keys)
        hand.until_carried(self.place)
        hand.kill()
        return hand

    def to_the_end(self, number: int) -> Hand:
        """A carrier that carried all there is, and goes on."""
        hand = self.hand(number).start()
        hand.until_carried(self.place)
        return hand

    def close(self) -> None:
        for hand in self._hands:
            hand.close()

    # -- what happens to the target

    def create_again(self) -> None:
        """The topic is deleted and created anew, under the same name."""
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
        """Somebody else's records; under so many keys, the ones that `send` gives."""
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
        """What retention does."""
        admin, where = self.target.admin(), Place(self.topic, 0, before)
        admin.delete_records([where])[where].result(30)

    def compact_target(self, left: int) -> None:
        """What the cleaner does to all that a COMPACTED target holds by now.

        Args:
            left: records that it will leave.
        """
        producer = Producer({**self.target.librdkafka_options(), "enable.idempotence": True})
        # The cleaner takes what lies in a segment that is closed. One that is too old is closed by
        # the next record, and the records' own times say how old it is.
        later = int(time.time() + 2 * SEGMENT_SECONDS) * 1000
        producer.produce(self.topic, b"", key=b"closes the segment", partition=0, timestamp=later)
        assert producer.flush(30) == 0
        self.until(lambda: len(dump(self.target, self.topic)[0].offsets) == left + 1)

    def until_forgotten(self, hand: Hand) -> None:
        """Until the target has forgotten what the carrier's writer sent."""
        writer, cluster = hand.stint._writer, self.carrying._cluster

        def is_forgotten() -> bool:
            states = self.carrying._await(cluster.producer_states(*self.place))
            return writer.producer_id not in states

        assert until(is_forgotten, PATIENCE_SECONDS)

    def until_remembered(self, hand: Hand, records: int) -> None:
        """Until the target's leader remembers so many records of the carrier's writer, which has
        sent all of them; no other replica need have one."""
        cluster, (producer_id, _) = self.carrying._cluster, hand.writer

        def is_remembered() -> bool:
            states = self.carrying._await(cluster.producer_states(*self.place))
            return states[producer_id].last_sequence == records - 1

        assert until(is_remembered, PATIENCE_SECONDS)

    def until_id_forgotten(self, hand: Hand) -> None:
        """Until the target knows the carrier's transactional id no more."""
        name, cluster = hand.stint._writer.transactional_id, self.carrying._cluster
        request = DescribeTransactionsRequest([name])

        def is_forgotten() -> bool:
            asked = cluster.ask_coordinator(TRANSACTION, name, request, lambda _: [])
            return self.carrying._await(asked).states[0][0] == ID_NOT_FOUND

        assert until(is_forgotten, PATIENCE_SECONDS)

    def renew(self) -> None:
        """What a driver says again and again: its word, and the witness."""
        driver = self.carrying._driver
        (ledger,) = self.carrying._ledgers.values()
        self.carrying._await(driver.say(self.carrying.plan_version))
        self.carrying._await(driver.commit(ledger.witness(self.topic, 1)))

    def until_entry_forgotten(self, beside: Stage) -> None:
        """Until the target's committed offsets have lost the partition's entry."""

        def is_forgotten() -> bool:
            self.renew()
            beside.renew()
            return not self.carrying.entries()

        assert until(is_forgotten, 2 * PATIENCE_SECONDS, 0.5)

    def until(self, condition: Callable[[], bool]) -> None:
        assert until(condition, PATIENCE_SECONDS)

    # -- what came of it

    @property
    def route(self) -> Route:
        (route,) = self.carrying.routes.values()
        return route

    @property
    def entry(self) -> Entry:
        return self.carrying.entries()[self.place]

    def assert_exact(self) -> None:
        """End every carrier, then compare: nothing is lost, repeated, reordered or changed.

        Raises RecordsDiffer.
        """
        for hand in self._hands:
            hand.kill_if_running()
        compared = compare_topic({"west": self.source}, self.target, self.topic)
        for comparison in compared.values():
            comparison.total.assert_exact()

    def seen(self) -> RouteVerdict:
        """Counts for readers that do not wait for commits; carriers may still run."""
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
    """The topic on both ends; as often on a cluster's brokers as it has by default, unless said."""
    placed: Any = {"replication_factor": replication_factor}
    if target_replicas:
        placed = {"replica_assignment": target_replicas}
    source.create_topics(
        NewTopic(topic, partitions, replication_factor, config=dict(source_config or {}))
    )
    target.create_topics(NewTopic(topic, partitions, config=dict(target_config or {}), **placed))
