"""Inquiry: all questions are asked at once, under one deadline, whatever is silent."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator

import pytest

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_error import AdminError
from replicator.runtime.store_errors import StoreUnreachable
from tests.addresses import refusing, silent
from tui.facts.watch.inquiry import Inquiry


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
