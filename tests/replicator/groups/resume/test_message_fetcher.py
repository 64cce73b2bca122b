"""Messages: fetched for the assignment that they belong to, and counted as handled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from balancer.topic_partition import TopicPartition
from replicator.groups.resume.assigned_partition import AssignedPartition
from replicator.groups.resume.deliveries import Deliveries
from replicator.groups.resume.message_fetcher import MessageFetcher
from replicator.groups.resume.runs_memory import PublishedPieces, Source
from replicator.groups.resume.runs_reader import Answer, Question
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from tests.replicator.groups.resume.published_runs import piece

# -- Answers about runs, and messages, go only to the assignment that they belong to.

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


# -- Messages of a call count as handled once the application asks for more.


@dataclass(eq=False)
class From:
    position: int | None = None


@pytest.fixture
def deliveries() -> Deliveries[From, str]:
    return Deliveries()


def put(deliveries, source, *items):
    for position, item in enumerate(items, start=1):
        deliveries.put(source, position, item)


def test_positions_move_with_what_is_handed_out_and_with_what_is_skipped(deliveries):
    source = From()
    put(deliveries, source, None, "b", None)
    assert deliveries.next() == "b"
    assert source.position == 2
    assert deliveries.next() is None
    assert source.position == 3


def test_an_error_keeps_its_order_and_moves_no_position(deliveries):
    source = From()
    put(deliveries, source, "a")
    deliveries.put(source, None, "error")
    deliveries.put(None, None, "another")
    assert [deliveries.next() for _ in range(4)] == ["a", "error", "another", None]
    assert source.position == 1


def test_the_whole_call_is_taken_back_and_nothing_before_it(deliveries):
    one, other = From(), From()
    put(deliveries, one, "a", "b", None, "d")
    put(deliveries, other, "x", "y")
    assert deliveries.next() == "a"
    deliveries.begin_call()
    assert [deliveries.next() for _ in range(4)] == ["b", "d", "x", "y"]
    deliveries.take_back()
    assert (one.position, other.position) == (1, None)


def test_a_call_that_hands_out_nothing_takes_nothing_back(deliveries):
    source = From()
    put(deliveries, source, "a")
    deliveries.next()
    deliveries.begin_call()
    assert deliveries.next() is None
    deliveries.take_back()
    assert source.position == 1


def test_a_commit_by_the_application_is_not_taken_back(deliveries):
    source = From()
    put(deliveries, source, "a", "b", "c")
    assert [deliveries.next() for _ in range(3)] == ["a", "b", "c"]
    deliveries.settle(source, 2)
    deliveries.settle(source, 1)
    deliveries.take_back()
    assert source.position == 2


def test_another_members_messages_are_not_handed_out(deliveries):
    gone, kept = From(), From()
    put(deliveries, gone, "a", "b")
    put(deliveries, kept, "x")
    deliveries.put(None, None, "error")
    deliveries.next()
    deliveries.drop([gone])
    assert [deliveries.next() for _ in range(3)] == ["x", "error", None]
    deliveries.take_back()
    assert (gone.position, kept.position) == (1, None)
