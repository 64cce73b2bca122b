"""Log ends of a topic's partitions, asked for repeatedly while the caller does other things.

These are the ends of everything written, committed or not. They include the records behind an open
transaction, which read_committed consumers have not seen yet.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from replicator.kafka.admin.admin_error import OUTDATED, kafka_error

INTERVAL_SECONDS = 0.25
ANSWER_SECONDS_MAX = 5.0
NEW_CLIENT_SECONDS = 1.0
"""Wait before the next question when the client was made anew, and with it its connections."""


class Ends(NamedTuple):
    """Answers to one question.

    Args:
        asked_at_ms: when the question was asked.
        ends: by partition, the next offset to be written at that time.
        refusals: by partition, the error that came instead.
    """

    asked_at_ms: int
    ends: Mapping[int, int]
    refusals: Mapping[int, KafkaError]


class LogEnds:
    """Asks for log ends, one question at a time; the client's own thread waits for the answers."""

    def __init__(self, options: Mapping[str, Any], topic: str, partitions: Iterable[int]) -> None:
        """Takes confluent_kafka's options."""
        self._options = dict(options)
        self._client = AdminClient(self._options)
        self._partitions = [TopicPartition(topic, number) for number in partitions]
        self._asked_at_ms = 0
        self._next_at = 0.0
        self._answers: Mapping[TopicPartition, Future[Any]] | None = None

    def poll(self) -> Ends | None:
        """Returns the answers to a question, once; asks the next one when due. Never waits."""
        if self._answers is None:
            if time.monotonic() >= self._next_at:
                self._ask()
            return None
        if not all(answer.done() for answer in self._answers.values()):
            return None
        ends: dict[int, int] = {}
        refusals: dict[int, KafkaError] = {}
        for partition, answer in self._answers.items():
            try:
                ends[partition.partition] = int(answer.result().offset)
            except KafkaException as failure:
                refusals[partition.partition] = kafka_error(failure)
        self._answers = None
        if any(error.code() in OUTDATED for error in refusals.values()):
            self._client = AdminClient(self._options)
            self._next_at = time.monotonic() + NEW_CLIENT_SECONDS
        return Ends(self._asked_at_ms, ends, refusals)

    def _ask(self) -> None:
        self._next_at = time.monotonic() + INTERVAL_SECONDS
        # Taken before asking: the answer covers at least everything written until then.
        self._asked_at_ms = time.time_ns() // 1_000_000
        self._answers = self._client.list_offsets(
            {partition: OffsetSpec.latest() for partition in self._partitions},
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=ANSWER_SECONDS_MAX,
        )
