"""Answers about runs, and messages, go only to the assignment that they belong to."""

from __future__ import annotations

from typing import Any

from balancer.topic_partition import TopicPartition
from replicator.groups.resume.assigned_partition import AssignedPartition
from replicator.groups.resume.deliveries import Deliveries
from replicator.groups.resume.message_fetcher import MessageFetcher
from replicator.groups.resume.runs_memory import PublishedPieces, Source
from replicator.groups.resume.runs_reader import Answer, Question
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from tests.replicator.groups.resume.published_runs import piece

FLIGHTS = TopicPartition("flights", 0)


class Fetched:
    """Message at an offset of FLIGHTS."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def __len__(self) -> int:
        return 1

    def topic(self) -> str:
        return FLIGHTS.topic

    def partition(self) -> int:
        return FLIGHTS.partition

    def offset(self) -> int:
        return self._offset

    def error(self) -> None:
        return None


class Broker:
    """Consumer whose next call returns `messages`."""

    def __init__(self) -> None:
        self.messages: list[Fetched] = []

    def consume(self, *_: object) -> list[Fetched]:
        found, self.messages = self.messages, []
        return found


class Assigned:
    """Assignment of one partition, whose start is known."""

    def __init__(self, assigned: AssignedPartition) -> None:
        self.unsettled = {FLIGHTS: assigned}

    def begin(self, assigned: AssignedPartition) -> None: ...

    def pause(self, assigned: AssignedPartition) -> None: ...


class Redis:
    """Runs: the questions that were asked, and the answers to give next."""

    trouble = None

    def __init__(self) -> None:
        self.asked: dict[TopicPartition, Question] = {}
        self.answered: dict[TopicPartition, tuple[Question, Answer]] = {}

    def ask(self, questions: dict[TopicPartition, Question]) -> None:
        self.asked = questions

    def answers(self) -> dict[TopicPartition, tuple[Question, Answer]]:
        found, self.answered = self.answered, {}
        return found


class Reading:
    """Group that has read one record of west, and fetches two of them from this aggregate."""

    def __init__(self) -> None:
        self.assigned = AssignedPartition(
            FLIGHTS,
            OffsetAndMetadata(0),
            {"west": 1},
            regions=["west"],
            is_tracking=False,
            is_stored=False,
            patience_seconds=60,
        )
        self.broker, self.redis = Broker(), Redis()
        self.deliveries: Any = Deliveries()
        consumer, assignment, runs = self.broker, Assigned(self.assigned), self.redis
        parts: Any = (consumer, {FLIGHTS: self.assigned}, assignment, self.deliveries, runs)
        self.fetcher = MessageFetcher(*parts, routes=["west>east"], untold="wait")
        self.broker.messages = [Fetched(0), Fetched(1)]
        self.fetcher.fetch(0.0)
        self.fetcher.fetch(0.0)

    def delivered(self) -> list[int]:
        """Returns the offsets of the messages that the application gets now."""
        self.fetcher.fetch(0.0)
        found = []
        while (message := self.deliveries.next()) is not None:
            found.append(message.offset())
        return found


def runs() -> Answer:
    pieces = (piece(RunSegment(0, 2, (Run(0, 0, 2),))),)
    return Answer((PublishedPieces(Source("west", "id"), 0, pieces),), None)


def test_records_wait_until_the_answer_has_their_runs():
    reading = Reading()
    assert reading.delivered() == []
    reading.redis.answered = {FLIGHTS: (reading.redis.asked[FLIGHTS], runs())}
    assert reading.delivered() == [1]


def test_an_answer_to_an_earlier_assignment_is_not_used_for_a_later_one():
    """An answer has only the runs that were new to its own question. For a later assignment it
    would be incomplete."""
    reading = Reading()
    reading.redis.answered = {FLIGHTS: (Question(), runs())}
    assert reading.delivered() == []
