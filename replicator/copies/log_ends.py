"""Where the partitions of a topic end, asked again and again while the caller does other things.

The ends of everything written, committed or not: what waits behind an open transaction is there,
and whoever reads committed records has not seen it yet.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from replicator.topics.admin_error import OUTDATED, kafka_error

ASK_SECONDS = 0.25
ANSWER_SECONDS_MAX = 5.0
NEW_CLIENT_SECONDS = 1.0
"""Once it had to be made anew, whose connections have to be as well."""


class Ends(NamedTuple):
    """What was answered.

    Args:
        ends: by partition, the next offset to be written at that time.
        refusals: by partition, why it did not answer.
    """

    asked_at_ms: int
    ends: Mapping[int, int]
    refusals: Mapping[int, KafkaError]


class LogEnds:
    """One question at a time; the client's own thread waits for the answers."""

    def __init__(self, options: Mapping[str, Any], topic: str, partitions: Iterable[int]) -> None:
        """`options` are confluent_kafka's."""
        self._options = dict(options)
        self._client = AdminClient(self._options)
        self._places = [TopicPartition(topic, number) for number in partitions]
        self._asked_at_ms = 0
        self._ask_again_at = 0.0
        self._answers: Mapping[TopicPartition, Future[Any]] | None = None

    def news(self) -> Ends | None:
        """The answers to a question, once; asks the next one when it is time. Never waits."""
        if self._answers is None:
            if time.monotonic() >= self._ask_again_at:
                self._ask()
            return None
        if not all(answer.done() for answer in self._answers.values()):
            return None
        ends: dict[int, int] = {}
        refusals: dict[int, KafkaError] = {}
        for place, answer in self._answers.items():
            try:
                ends[place.partition] = int(answer.result().offset)
            except KafkaException as failure:
                refusals[place.partition] = kafka_error(failure)
        self._answers = None
        if any(error.code() in OUTDATED for error in refusals.values()):
            self._client = AdminClient(self._options)
            self._ask_again_at = time.monotonic() + NEW_CLIENT_SECONDS
        return Ends(self._asked_at_ms, ends, refusals)

    def _ask(self) -> None:
        self._ask_again_at = time.monotonic() + ASK_SECONDS
        # Taken before asking: the answer tells at least of everything written until then.
        self._asked_at_ms = time.time_ns() // 1_000_000
        self._answers = self._client.list_offsets(
            {place: OffsetSpec.latest() for place in self._places},
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=ANSWER_SECONDS_MAX,
        )
