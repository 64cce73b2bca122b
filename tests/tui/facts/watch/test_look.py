"""Look: questions and their answers, under one deadline, whatever is silent."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

import pytest

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_error import AdminError, NotAuthorized
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.runtime.store_errors import StoreForbidden, StoreUnreachable
from tests.addresses import refusing, silent
from tui.facts.watch.inquiry import Inquiry
from tui.facts.watch.look import look
from tui.facts.watch.problems import answer_or_none
from tui.facts.watch.question import NO_ANSWER, Answer, Answers, Key, Question
from tui.facts.watch.spotlight import Spotlight
from tui.facts.watch.watcher import WallClock
from tui.pages.page import NO_FOCUS, Focus

# --- Answers to questions: what was never answered is None.

TOPICS, ENDS = Key("west regional", "topics"), Key("west regional", "log ends")


def test_a_question_that_was_never_asked_has_no_answer() -> None:
    assert Answers({}).answer(TOPICS) == NO_ANSWER
    assert Answers({}).value(TOPICS) is None


def test_a_question_has_its_own_answer() -> None:
    answers = Answers({TOPICS: Answer([], 1.0), ENDS: Answer(None, None, "refused", 2.0)})
    assert answers.value(TOPICS) == []
    assert (answers.value(ENDS), answers.answer(ENDS).problem) == (None, "refused")


# --- Spotlight: what is on screen, for questions in other threads.


def test_nothing_is_on_screen_at_first() -> None:
    spotlight = Spotlight()
    assert (spotlight.topic, spotlight.group, spotlight.topic_of("west>east")) == (None, None, None)
    assert not spotlight.turn(NO_FOCUS)


def test_a_topic_is_on_screen_of_one_route_alone() -> None:
    spotlight = Spotlight()
    assert spotlight.turn(Focus(topic=("west>east", "orders")))
    assert spotlight.topic_of("west>east") == "orders"
    assert spotlight.topic_of("west>west") is None


def test_turning_to_the_same_is_no_change() -> None:
    spotlight = Spotlight()
    focus = Focus(group=("billing", "west", "east"))
    assert spotlight.turn(focus)
    assert not spotlight.turn(focus)
    assert spotlight.group == ("billing", "west", "east")


# --- Wall clock of a watch: ages outlast a step of the machine's clock.


def clock(*wall: float) -> WallClock:
    return WallClock(chain(wall, repeat(wall[-1])).__next__, lambda: 50.0)


def test_moments_are_told_in_unix_seconds() -> None:
    assert clock(1000.0).unix(47.0) == 997.0
    assert clock(1000.0).unix(None) is None


def test_after_a_step_back_earlier_moments_are_told_by_the_new_time() -> None:
    found = clock(5000.0, 1400.0)
    found.follow()
    assert found.unix(47.0) == 1397.0


def test_a_clock_that_is_slewed_moves_nothing() -> None:
    found = clock(5000.0, 5000.9)
    found.follow()
    assert found.unix(47.0) == 4997.0


# --- Servers that give no answer become problems; all other errors stay errors.


def raising(error: Exception):
    def ask():
        raise error

    return ask


def test_an_answer_is_returned_and_nothing_noted():
    noted = []
    assert answer_or_none(lambda: 7, noted.append) == 7
    assert noted == []


@pytest.mark.parametrize(
    "error",
    [AdminError("east aggregate", "away"), LogUnreadable("away"), StoreUnreachable("away")],
)
def test_a_server_that_gives_no_answer_is_noted(error):
    noted = []
    assert answer_or_none(raising(error), noted.append) is None
    assert noted == [str(error)]


@pytest.mark.parametrize(
    "error",
    [
        StoreForbidden("Redis at x: User viewer has no permissions to run 'zrange'"),
        NotAuthorized("Redis at x", "topics: viewer may not (x); grant the right"),
        LogUnreadable("Redis at x: TOPIC_AUTHORIZATION_FAILED"),
    ],
)
def test_a_right_that_is_missing_is_called_so(error):
    noted = []
    answer_or_none(raising(error), noted.append)
    rest = str(error).removeprefix("Redis at x: ")
    assert noted == [f"Redis at x: lacks the right: {rest}"]


def test_another_error_is_a_problem_only_where_the_caller_says_so():
    noted = []
    assert answer_or_none(raising(ValueError("broken")), noted.append, ValueError) is None
    assert noted == ["broken"]
    with pytest.raises(ValueError, match="broken"):
        answer_or_none(raising(ValueError("broken")), noted.append)


# --- Inquiry: all questions are asked at once, under one deadline, whatever is silent.


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """Event that a silent server would set; set at the end, so that no thread is left."""
    event = threading.Event()
    yield event
    event.set()


def test_questions_are_asked_at_the_same_time() -> None:
    inquiry, both = Inquiry(30.0), threading.Barrier(2)
    replies = [inquiry.ask(name, lambda: both.wait(30) + 1) for name in ("west", "east")]
    assert {reply.answer() for reply in replies} == {1, 2}
    assert inquiry.problems == {}


def test_a_silent_server_costs_the_timeout_once_however_many_are_silent(
    never: threading.Event,
) -> None:
    began = time.monotonic()
    inquiry = Inquiry(0.2)
    replies = [inquiry.ask(f"server {number}", never.wait) for number in range(20)]
    assert [reply.answer() for reply in replies] == [None] * 20
    assert 0.2 <= time.monotonic() - began < 5
    assert re.fullmatch(r"server 7: no answer within [01]\.\d s", inquiry.problems["server 7"])


def test_a_problem_of_a_server_is_told_and_others_answer() -> None:
    def lost() -> int:
        raise StoreUnreachable("Redis at east: connection refused")

    inquiry = Inquiry(30.0)
    bad, good = inquiry.ask("east Redis", lost), inquiry.ask("west Redis", lambda: 7)
    assert (bad.answer(), good.answer()) == (None, 7)
    assert inquiry.problems == {"east Redis": "Redis at east: connection refused"}


def test_the_first_problem_of_a_server_counts() -> None:
    def lost(text: str) -> None:
        raise AdminError("west regional", text)

    inquiry = Inquiry(30.0)
    inquiry.ask("west regional", lambda: lost("first")).answer()
    inquiry.ask("west regional", lambda: lost("second")).answer()
    assert inquiry.problems == {"west regional": "west regional: first"}


def test_a_question_gets_the_answers_that_it_waits_for() -> None:
    inquiry = Inquiry(30.0)
    topics = inquiry.ask("west", lambda: ["orders", "trades"])
    assert inquiry.ask("west", len, [topics]).answer() == 2


def test_only_the_silent_server_is_named_not_those_that_were_not_asked(
    never: threading.Event,
) -> None:
    inquiry = Inquiry(0.1)
    topics = inquiry.ask("west", never.wait)
    ends = inquiry.ask("east", lambda _: 7, [topics])
    last = inquiry.ask("north", lambda _: 7, [ends])
    assert (last.answer(), ends.answer(), topics.answer()) == (None, None, None)
    assert list(inquiry.problems) == ["west"]


def test_a_server_that_was_asked_late_is_told_apart_from_a_silent_one(
    never: threading.Event,
) -> None:
    inquiry = Inquiry(1.0)
    slow = inquiry.ask("west", lambda: not never.wait(0.7))
    late = inquiry.ask("east", lambda _: never.wait(), [slow])
    assert (late.answer(), slow.answer()) == (None, True)
    assert re.fullmatch(r"east: no answer within 0\.\d s", inquiry.problems["east"])


def test_a_mistake_in_a_question_is_raised_and_not_called_a_problem() -> None:
    reply = Inquiry(30.0).ask("west", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        reply.answer()


def test_errors_that_the_asker_names_are_problems_too() -> None:
    inquiry = Inquiry(30.0, ZeroDivisionError)
    assert inquiry.ask("west", lambda: 1 // 0).answer() is None
    assert "west" in inquiry.problems


def test_a_cluster_that_refuses_connections_is_a_problem_at_once() -> None:
    inquiry = Inquiry(60.0)
    cluster = KafkaCluster(bootstrap=(refusing(), refusing()))
    replies = [inquiry.ask_cluster("west regional", cluster, lambda: 7) for _ in range(2)]
    assert [reply.answer() for reply in replies] == [None, None]
    assert "Connection refused" in inquiry.problems["west regional"]


def test_a_cluster_is_asked_when_one_of_its_addresses_accepts() -> None:
    with silent() as address:
        cluster = KafkaCluster(bootstrap=(refusing(), address))
        assert Inquiry(60.0).ask_cluster("west regional", cluster, lambda: 7).answer() == 7


# --- Look: all questions at once, under one deadline, with a problem for each that has no answer.

WEST, EAST = Key("west regional", "topics"), Key("east Redis", "reports")


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


def test_a_look_tells_at_once_of_a_cluster_that_refuses_connections() -> None:
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
