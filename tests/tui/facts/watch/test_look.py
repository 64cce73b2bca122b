"""Look: all questions at once, under one deadline, with a problem for each that has no answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from replicator.config.topology import KafkaCluster
from replicator.runtime.store_errors import StoreUnreachable
from tests.addresses import refusing, silent
from tui.facts.watch.look import look
from tui.facts.watch.question import Key, Question

WEST, EAST = Key("west regional", "topics"), Key("east Redis", "reports")
ENDS = Key("west regional", "log ends")


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """Event that a silent server would set; set at the end, so that no thread is left."""
    event = threading.Event()
    yield event
    event.set()


def question(key: Key, ask: Any, **fields: Any) -> Question:
    return Question(key=key, cadence_seconds=10.0, ask=ask, **fields)


def test_each_question_gets_its_answer_and_the_time_at_which_it_was_asked() -> None:
    before = time.time()
    answers = look([question(WEST, lambda: ["orders"]), question(EAST, lambda: None)], 30.0)
    assert answers.value(WEST) == ["orders"]
    assert before <= (answers.answer(WEST).asked_at or 0.0) <= time.time()
    # None is an answer as well: nothing is there.
    assert answers.answer(EAST).asked_at is not None


def test_a_question_gets_the_answers_that_it_needs() -> None:
    asked = [question(WEST, lambda: [1, 2]), question(ENDS, len, needs=(WEST,))]
    assert look(asked, 30.0).value(ENDS) == 2


def test_a_problem_belongs_to_its_question_and_others_are_answered() -> None:
    def lost() -> None:
        raise StoreUnreachable("Redis at east: connection refused")

    answers = look([question(EAST, lost), question(WEST, lambda: 7)], 30.0)
    assert answers.value(WEST) == 7
    assert answers.answer(EAST).problem == "Redis at east: connection refused"
    assert answers.answer(EAST).asked_at is None


def test_a_question_without_what_it_needs_is_not_asked_and_has_no_problem_of_its_own() -> None:
    def lost() -> None:
        raise StoreUnreachable("away")

    answers = look([question(WEST, lost), question(ENDS, len, needs=(WEST,))], 30.0)
    assert answers.answer(ENDS).problem is None
    assert answers.answer(ENDS).asked_at is None


def test_silent_servers_cost_the_timeout_once(never: threading.Event) -> None:
    began = time.monotonic()
    keys = [Key(f"server {number}", "topics") for number in range(10)]
    answers = look([question(key, never.wait) for key in keys], 0.2)
    assert 0.2 <= time.monotonic() - began < 5
    assert all("no answer within" in (answers.answer(key).problem or "") for key in keys)


def test_a_server_that_says_itself_why_it_is_away_says_so_for_its_late_answers_too(
    never: threading.Event,
) -> None:
    def lost() -> None:
        raise StoreUnreachable("west regional: refused the login")

    answers = look([question(WEST, lost), question(ENDS, never.wait)], 0.1)
    assert answers.answer(ENDS).problem == "west regional: refused the login"


def test_a_cluster_that_refuses_connections_is_a_problem_at_once() -> None:
    cluster = KafkaCluster(bootstrap=(refusing(),))
    answers = look([question(WEST, lambda: 7, cluster=cluster)], 60.0)
    assert "Connection refused" in (answers.answer(WEST).problem or "")


def test_a_cluster_that_accepts_connections_is_asked() -> None:
    with silent() as address:
        cluster = KafkaCluster(bootstrap=(address,))
        assert look([question(WEST, lambda: 7, cluster=cluster)], 60.0).value(WEST) == 7


def test_a_question_waits_for_those_that_should_be_answered_before() -> None:
    order: list[str] = []
    is_slow = threading.Event()

    def ledger() -> str:
        is_slow.wait(0.2)
        order.append("ledger")
        return "ledger"

    ends = question(ENDS, lambda: order.append("ends"), waits_for=(WEST,))
    look([question(WEST, ledger), ends], 30.0)
    assert order == ["ledger", "ends"]


def test_a_question_does_not_wait_forever(never: threading.Event) -> None:
    ends = question(ENDS, lambda: 7, waits_for=(EAST,))
    answers = look([question(EAST, never.wait), ends], 0.6)
    assert answers.value(ENDS) == 7


def test_clients_are_closed_whatever_comes_of_the_question() -> None:
    closed: list[str] = []

    def lost() -> None:
        raise StoreUnreachable("away")

    look(
        [
            question(WEST, lambda: 7, close=lambda: closed.append("west")),
            question(EAST, lost, close=lambda: closed.append("east")),
        ],
        30.0,
    )
    assert sorted(closed) == ["east", "west"]


def test_a_mistake_in_a_question_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        look([question(WEST, lambda: 1 // 0)], 30.0)


def test_a_question_before_the_one_that_it_needs_is_a_mistake() -> None:
    with pytest.raises(KeyError, match="log ends"):
        look([question(ENDS, len, needs=(WEST,)), question(WEST, list)], 30.0)
