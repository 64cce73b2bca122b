"""Fetching of messages, and their release to the application once their runs are known."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from confluent_kafka import Consumer, Message

from balancer.topic_partition import TopicPartition
from replicator.groups.resume.assigned_partition import AssignedPartition
from replicator.groups.resume.awaited_runs import AwaitedRuns
from replicator.groups.resume.consumer_assignment import ConsumerAssignment
from replicator.groups.resume.deliveries import Deliveries
from replicator.groups.resume.patience import Due

logger = logging.getLogger(__name__)

BATCH_RECORDS = 500
WAIT_SECONDS_FOR_RUNS = 0.02

UnknownRuns = Literal["wait", "deliver"]
"""Action for a record whose run stays unknown: raise RunsUntold, or hand the record out."""


class RunsUntold(Exception):
    """The run of a record stays unknown, and nothing behind the record is handed out.

    Correct what the message names, and poll again: reading continues from there.
    """


class MessageFetcher:
    """Fetches messages, and moves those that may go to the application into its deliveries.

    Args:
        assigned: state by partition, kept up to date by `assignment`.
        runs: runs for the records that wait.
        routes: names of the routes into this region, for error texts.
        untold: action for a record whose run stays unknown.
    """

    def __init__(
        self,
        consumer: Consumer,
        assigned: Mapping[TopicPartition, AssignedPartition],
        assignment: ConsumerAssignment,
        deliveries: Deliveries[AssignedPartition, Message],
        runs: AwaitedRuns,
        *,
        routes: Iterable[str],
        untold: UnknownRuns,
    ) -> None:
        self._consumer = consumer
        self._assigned = assigned
        self._assignment = assignment
        self._deliveries = deliveries
        self._runs = runs
        self._routes = tuple(routes)
        self._untold = untold

    def fetch(self, wait_seconds: float) -> None:
        """Fetches what has arrived; waits for a first message if there is none.

        Raises RunsUntold, KafkaException.
        """
        is_waiting = self.apply_runs()
        messages = self._consumer.consume(BATCH_RECORDS, 0)
        if not messages and not self._deliveries and wait_seconds > 0:
            wait_seconds = min(wait_seconds, WAIT_SECONDS_FOR_RUNS) if is_waiting else wait_seconds
            message = self._consumer.poll(wait_seconds)
            messages = [message] if message is not None else []
        touched = {}
        for message in messages:
            assigned = self._take(message)
            if assigned is not None:
                touched[assigned.partition] = assigned
        for assigned in touched.values():
            self._release(assigned)

    def apply_runs(self) -> bool:
        """Takes in published runs and asks for more; returns True if a partition waits.

        Raises RunsUntold.
        """
        for partition, (question, answer) in self._runs.answers().items():
            assigned = self._assigned.get(partition)
            # The partition may have been revoked and assigned again meanwhile. The answer to an
            # earlier question has only what was new to that question.
            if assigned is not None and assigned.question is question:
                assigned.learn(answer)
                self._release(assigned)
        waiting = {}
        for partition, assigned in list(self._assignment.unsettled.items()):
            self._assignment.begin(assigned)
            if not assigned.is_unsettled:
                del self._assignment.unsettled[partition]
            if assigned.wants_runs:
                waiting[partition] = assigned.question
                self._wait(assigned)
            elif assigned.patience.end():
                logger.info("event=runs-told %s-%d", *partition)
        self._runs.ask(waiting)
        return bool(waiting)

    def _take(self, message: Message) -> AssignedPartition | None:
        """Takes in one message; returns its partition if that has records to release."""
        partition: Any = message.topic(), message.partition()
        assigned, error = self._assigned.get(partition), message.error()
        if assigned is None:
            if error is not None:
                self._deliveries.put(None, None, message)
            return None
        if not assigned.is_positioned:
            return None
        records, offset = assigned.records, message.offset() or 0
        if records.is_open and error is None:
            if offset >= records.fetched:
                records.fetched = offset + 1
                self._deliveries.put(assigned, offset + 1, message)
            return None
        assigned.take(message)
        return assigned

    def _release(self, assigned: AssignedPartition, *, even_unknown: bool = False) -> None:
        for position, message in assigned.release(even_unknown=even_unknown):
            self._deliveries.put(assigned, position, message)
        self._assignment.pause(assigned)

    def _wait(self, assigned: AssignedPartition) -> None:
        due = assigned.patience.wait(assigned.records.first_held, time.monotonic())
        if due is Due.LOG:
            logger.warning("event=runs-awaited %s", self._missing(assigned))
        elif due is Due.END and self._untold == "deliver" and assigned.is_positioned:
            self._release(assigned, even_unknown=True)
        elif due is Due.END:
            raise RunsUntold(self._missing(assigned))

    def _missing(self, assigned: AssignedPartition) -> str:
        """Returns the record that a partition waits for, the reason, and what to do."""
        offset = assigned.records.first_held
        at = "where to begin" if offset is None else f"at offset {offset}"
        reason = assigned.trouble or self._runs.trouble or "Redis answers, and has no such run yet"
        return (
            f"{assigned.partition.topic}-{assigned.partition.partition} {at}: no run says which "
            f"record of {', '.join(self._routes)} is stored there: {reason}. Check that Redis "
            "answers and that `sluice replicate` runs here: it publishes runs within a second, "
            "and reads lost ones back from the runs topic"
        )
