"""Look at an appliance: all questions are asked once, at the same time, under one deadline."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from replicator.kafka.admin.listening import check_listening
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from tui.facts.watch.inquiry import Inquiry, Reply
from tui.facts.watch.problems import answer_or_none
from tui.facts.watch.question import Answer, Answers, Key, Question

PROBLEMS: tuple[type[Exception], ...] = (Answered, Unreachable, ValueError)
"""Errors that are a server's problem, besides those of problems.py."""


def look(questions: Iterable[Question], timeout_seconds: float) -> Answers:
    """Returns the answers after the timeout at the latest, whatever is silent.

    Args:
        questions: each one after those that it needs or waits for.

    Raises:
        Exception: as a question did, if that is no problem of a server.
    """
    found: dict[Key, Answer] = {}
    asking = _Asking(Inquiry(timeout_seconds, *PROBLEMS))
    asked = list(questions)
    for question in asked:
        asking.ask(question)
    for question in asked:
        found[question.key] = asking.answer(question)
    return Answers(found)


class _Asking:
    """Questions that are asked, with the problems found so far."""

    def __init__(self, inquiry: Inquiry) -> None:
        self._inquiry = inquiry
        self._began = time.time()
        self._replies: dict[Key, Reply[Answer]] = {}
        self._problems: dict[Key, str] = {}

    def ask(self, question: Question) -> None:
        missing = [key for key in question.needs if key not in self._replies]
        if missing:
            raise KeyError(f"{question.key} is asked before {missing[0]}, which it needs")
        waits_for = [self._replies[key] for key in question.waits_for if key in self._replies]

        def asked(*needed: Answer) -> Answer | None:
            for reply in waits_for:
                reply.early(self._inquiry.left(question.late_part))
            return self._asked(question, [each.value for each in needed])

        needs = [self._replies[key] for key in question.needs]
        self._replies[question.key] = self._inquiry.ask(question.key.server, asked, needs)

    def _asked(self, question: Question, needed: list[Any]) -> Answer | None:
        asked_at = time.time()

        def ask() -> Answer:
            try:
                return Answer(asked_value(question, needed), asked_at)
            finally:
                question.close()

        return answer_or_none(
            ask, lambda text: self._problems.setdefault(question.key, text), *PROBLEMS
        )

    def answer(self, question: Question) -> Answer:
        """Waits for the answer until the deadline."""
        answer = self._replies[question.key].answer()
        if answer is not None:
            return answer
        problem = self._problems.get(question.key)
        if problem is None and not self._lacks_needed(question):
            problem = self._lateness(question.key.server)
        return Answer(problem=problem, problem_since=self._began if problem else None)

    def _lacks_needed(self, question: Question) -> bool:
        return any(self._replies[key].answer() is None for key in question.needs)

    def _lateness(self, server: str) -> str:
        """Returns why a question is open: the server's own word, if another question got one."""
        own = (text for key, text in self._problems.items() if key.server == server)
        return next(own, "") or self._inquiry.problems.get(server, f"{server}: no answer in time")


def asked_value(question: Question, needed: Iterable[Any]) -> Any:
    """Asks a question in this thread; its cluster has to accept connections first."""
    if question.cluster is not None:
        check_listening(question.key.server, question.cluster)
    return question.ask(*needed)
