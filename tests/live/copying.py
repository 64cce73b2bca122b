"""A copier that runs beside a test, and commits for it to copy."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from deploy.lab.kafka import KafkaCluster
from deploy.lab.wait import until
from replicator.groups.copies.copier import Copier, Store
from replicator.kafka.tail.tail_position import Portion, TailPosition
from replicator.kafka.tail.topic_tailer import TopicTailer

PATIENCE_SECONDS = 60.0
BEGIN = TailPosition("topic", 0)
COORDINATOR_BEGINS = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
}


@contextmanager
def copying(follower: TopicTailer[Any], store: Store[Any]) -> Iterator[None]:
    copier = Copier(follower, store)
    thread = threading.Thread(target=copier.run)
    thread.start()
    try:
        yield
    finally:
        copier.stop()
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


def opening(*numbers: int, begin: TailPosition = BEGIN) -> dict[int, Portion[Any]]:
    """Returns a copier's first portion: the position from which each partition is read."""
    return {number: Portion(begin, begin) for number in numbers}


def until_fresh(store: Any) -> None:
    """Waits until the store was caught up at a time after this call."""
    began = time.time_ns() // 1_000_000
    assert until(lambda: (at := store.age(began)) is not None and at <= 0, PATIENCE_SECONDS)


def events(caplog) -> list[str]:
    said = [record.getMessage() for record in caplog.records]
    return [line.split()[0].removeprefix("event=") for line in said if line.startswith("event=")]


def commit(cluster: KafkaCluster, group: str, topic: str, *offsets: int) -> None:
    """Commits one offset per partition, as a consumer with manual assignment."""
    consumer = Consumer({**cluster.librdkafka_options(), "group.id": group})
    places = [TopicPartition(topic, number, offset) for number, offset in enumerate(offsets)]

    def is_taken() -> bool:
        """Returns False while the coordinator still loads and accepts no commit."""
        try:
            consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() not in COORDINATOR_BEGINS:
                raise
            return False
        return True

    try:
        assert until(is_taken, PATIENCE_SECONDS)
    finally:
        consumer.close()
