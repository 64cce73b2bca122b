"""Watcher: each question in a thread of its own; a silent or broken one holds up nobody."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from replicator.runtime.store_errors import StoreUnreachable
from tui.facts.watch.question import Answers, Key, Question
from tui.facts.watch.spotlight import Spotlight
from tui.facts.watch.watcher import WallClock, Watcher
from tui.pages.page import Focus

WEST, EAST = Key("west regional", "topics"), Key("east Redis", "reports")
ENDS = Key("west regional", "log ends")
RARELY, OFTEN = 3600.0, 0.02


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """Event that a silent server would set; set at the end, so that no thread is left."""
    event = threading.Event()
    yield event
    event.set()


def question(key: Key, ask: Any, cadence: float = RARELY, **fields: Any) -> Question:
    return Question(key=key, cadence_seconds=cadence, ask=ask, **fields)


@contextmanager
def watched(
    *questions: Question, timeout_seconds: float = 30.0, spotlight: Spotlight | None = None
) -> Iterator[Watcher]:
    watcher = Watcher(questions, timeout_seconds, spotlight)
    watcher.start()
    try:
        yield watcher
    finally:
        watcher.close()


def awaited(watcher: Watcher, is_so: Callable[[Answers], bool]) -> Answers:
    """Returns the answers once they are so."""
    deadline, known = time.monotonic() + 30, 0
    while not is_so(answers := watcher.answers()):
        assert time.monotonic() < deadline
        known = watcher.await_news(known, 0.05)
    return answers


def has_value(key: Key, value: object) -> Callable[[Answers], bool]:
    return lambda answers: bool(answers.value(key) == value)


def test_before_any_answer_nothing_is_known_and_nobody_waits(never: threading.Event) -> None:
    with watched(question(WEST, never.wait)) as watcher:
        answer = watcher.answers().answer(WEST)
    assert (answer.value, answer.asked_at, answer.problem) == (None, None, None)


def test_a_question_is_asked_again_and_again_in_one_thread() -> None:
    numbers, threads = count(1), set()

    def ask() -> int:
        threads.add(threading.current_thread().name)
        return next(numbers)

    with watched(question(WEST, ask, OFTEN)) as watcher:
        awaited(watcher, lambda answers: (answers.value(WEST) or 0) >= 3)
    assert threads == {"watch west regional, topics"}


def test_a_question_is_asked_as_soon_as_what_it_needs_is_answered() -> None:
    asked = [question(ENDS, len, needs=(WEST,)), question(WEST, lambda: ["orders"])]
    with watched(*asked) as watcher:
        awaited(watcher, has_value(ENDS, 1))


def test_a_question_is_asked_with_the_last_answer_although_its_server_is_away_now() -> None:
    is_away = threading.Event()

    def topics() -> list[str]:
        if is_away.is_set():
            raise StoreUnreachable("away")
        return ["orders"]

    numbers = count(1)
    asked = [
        question(WEST, topics, OFTEN),
        question(ENDS, lambda topics: (topics, next(numbers)), OFTEN, needs=(WEST,)),
    ]
    with watched(*asked) as watcher:
        awaited(watcher, has_value(WEST, ["orders"]))
        is_away.set()
        answers = awaited(watcher, lambda answers: answers.answer(WEST).problem is not None)
        before = answers.value(ENDS)[1] if answers.value(ENDS) else 0
        later = awaited(watcher, lambda answers: (answers.value(ENDS) or ("", 0))[1] > before + 1)
    assert later.value(ENDS)[0] == ["orders"]


def test_a_server_that_goes_away_leaves_its_last_answer_and_says_since_when() -> None:
    outcomes = iter([7])

    def ask() -> int:
        for value in outcomes:
            return value
        raise StoreUnreachable("east Redis: connection refused")

    with watched(question(EAST, ask, OFTEN)) as watcher:
        first = awaited(watcher, lambda it: it.answer(EAST).problem is not None).answer(EAST)
        known = watcher.await_news(0, 0)
        watcher.await_news(known + 1, 30)
        later = watcher.answers().answer(EAST)
    assert (first.value, first.problem) == (7, "east Redis: connection refused")
    assert later.problem_since == first.problem_since
    assert (first.asked_at or 0) < (first.problem_since or 0)


def test_a_server_that_comes_back_has_no_problem_any_more() -> None:
    is_away = threading.Event()
    is_away.set()

    def ask() -> int:
        if is_away.is_set():
            raise StoreUnreachable("away")
        return 7

    with watched(question(EAST, ask, OFTEN)) as watcher:
        awaited(watcher, lambda it: it.answer(EAST).problem is not None)
        is_away.clear()
        answer = awaited(watcher, has_value(EAST, 7)).answer(EAST)
    assert (answer.problem, answer.problem_since) == (None, None)


def test_a_question_that_is_open_for_too_long_keeps_its_value_and_has_a_problem(
    never: threading.Event,
) -> None:
    outcomes = iter([7])
    asked = question(EAST, lambda: next(outcomes, None) or never.wait(), OFTEN)
    with watched(asked, timeout_seconds=0.2) as watcher:
        answer = awaited(watcher, lambda it: it.answer(EAST).problem is not None).answer(EAST)
    assert answer.value == 7
    assert answer.problem == "east Redis: no answer within 0.2 s"


def test_a_silent_server_holds_up_no_other_question(never: threading.Event) -> None:
    with watched(question(EAST, never.wait), question(WEST, lambda: 7)) as watcher:
        awaited(watcher, has_value(WEST, 7))


def test_a_mistake_in_a_question_is_its_problem_and_it_is_asked_again() -> None:
    divisors = [0]
    with watched(question(WEST, lambda: 1 // divisors[0], OFTEN)) as watcher:
        answers = awaited(watcher, lambda it: it.answer(WEST).problem is not None)
        divisors[0] = 1
        awaited(watcher, lambda it: it.answer(WEST).problem is None)
    problem = answers.answer(WEST).problem or ""
    assert problem.startswith("west regional: ZeroDivisionError: ")


def test_questions_are_asked_at_once_on_request() -> None:
    numbers = count(1)
    with watched(question(WEST, lambda: next(numbers))) as watcher:
        awaited(watcher, has_value(WEST, 1))
        watcher.ask_now()
        awaited(watcher, has_value(WEST, 2))


def test_another_focus_asks_the_questions_that_follow_it() -> None:
    spotlight, numbers = Spotlight(), count(1)
    asked = [
        question(ENDS, lambda: spotlight.topic_of("west>east"), follows_focus=True),
        question(WEST, lambda: next(numbers)),
    ]
    with watched(*asked, spotlight=spotlight) as watcher:
        awaited(watcher, lambda it: it.answer(ENDS).asked_at is not None and it.value(WEST) == 1)
        watcher.set_focus(Focus(topic=("west>east", "orders")))
        answers = awaited(watcher, has_value(ENDS, "orders"))
    assert answers.value(WEST) == 1


def test_closing_returns_at_once_and_clients_are_closed_in_their_threads(
    never: threading.Event,
) -> None:
    closed: list[str] = []
    is_closed = threading.Event()

    def close() -> None:
        closed.append(threading.current_thread().name)
        is_closed.set()

    watcher = Watcher([question(WEST, lambda: 7, close=close), question(EAST, never.wait)], 30.0)
    watcher.start()
    awaited(watcher, has_value(WEST, 7))
    began = time.monotonic()
    watcher.close()
    assert time.monotonic() - began < 1
    assert is_closed.wait(30)
    assert closed == ["watch west regional, topics"]
    assert watcher.is_closed


def test_a_question_that_is_asked_once_is_asked_until_it_was_answered() -> None:
    outcomes = iter([StoreUnreachable("away"), StoreUnreachable("away")])
    asked, closed = count(1), threading.Event()

    def ask() -> int:
        number = next(asked)
        for outcome in outcomes:
            raise outcome
        return number

    once = question(EAST, ask, OFTEN, is_once=True, close=closed.set)
    with watched(once) as watcher:
        awaited(watcher, has_value(EAST, 3))
        assert closed.wait(30)
        watcher.ask_now()
        assert watcher.answers().value(EAST) == 3


def test_ages_stay_right_when_the_clock_of_the_machine_is_set_back() -> None:
    hour_ahead, now = time.time() + 3600, time.time
    walls = [lambda: hour_ahead]
    watcher = Watcher([question(WEST, lambda: 7)], 30.0, clock=WallClock(lambda: walls[-1]()))
    watcher.start()
    try:
        first = awaited(watcher, has_value(WEST, 7)).answer(WEST)
        walls.append(now)
        later = watcher.answers().answer(WEST)
    finally:
        watcher.close()
    assert 0 <= hour_ahead + 30 - (first.asked_at or 0) <= 60
    assert 0 <= now() - (later.asked_at or 0) < 60


def test_whoever_waits_for_news_is_woken_up_by_the_end() -> None:
    watcher = Watcher([], 30.0)
    watcher.close()
    began = time.monotonic()
    watcher.await_news(100, 30)
    assert time.monotonic() - began < 10


def test_a_question_may_be_open_for_longer_than_those_of_clients(never: threading.Event) -> None:
    slow = question(EAST, never.wait, timeout_seconds=60.0)
    with watched(slow, question(WEST, never.wait), timeout_seconds=0.1) as watcher:
        answers = awaited(watcher, lambda it: it.answer(WEST).problem is not None)
    assert answers.answer(EAST).problem is None
