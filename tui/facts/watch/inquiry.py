"""Inquiry: questions to many servers, all asked at once, under one deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.listening import check_listening
from tui.facts.watch.problems import Answer, answer_or_none

T = TypeVar("T")

GRACE_SECONDS = 0.4
"""Time after the timeout in which a client may still say itself why there is no answer."""


class Reply(Generic[T]):
    """Reply to one question; a thread of its own gives it.

    Args:
        after: replies without which the question is not asked.
        deadline: end of waiting, in seconds of time.monotonic.
        server: that is asked, for people.
        problems: the first of each server; this one's, once the deadline has passed while this
            very question was open.
    """

    def __init__(
        self,
        after: Sequence[Reply[Any]],
        deadline: float,
        server: str,
        problems: dict[str, str],
    ) -> None:
        self._after, self._deadline = after, deadline
        self._server, self._problems = server, problems
        self._asked_at: float | None = None
        self._is_here = threading.Event()
        self._answer: T | None = None
        self._bug: Exception | None = None

    def answer(self) -> T | None:
        """Waits for the answer, until the deadline; None if there is none.

        Raises:
            Exception: as the question did, if that is no problem of a server.
        """
        if not self._is_here.wait(max(0.0, self._deadline - time.monotonic())):
            if all(each.answer() is not None for each in self._after):
                self._problems.setdefault(self._server, f"{self._server}: {self._lateness()}")
            return None
        if self._bug is not None:
            raise self._bug
        return self._answer

    def early(self, seconds: float) -> T | None:
        """Returns the answer if it comes within so many seconds; gives nothing up."""
        return self._answer if self._is_here.wait(seconds) else None

    def give(self, question: Callable[..., T | None]) -> None:
        """Asks, once all that the question needs is answered, and keeps what comes back."""
        try:
            needed = [each.answer() for each in self._after]
            if all(each is not None for each in needed):
                self._asked_at = time.monotonic()
                self._answer = question(*needed)
        except Exception as bug:
            self._bug = bug
        self._is_here.set()

    def _lateness(self) -> str:
        """Returns for how long the question was open: others may have taken most of the time."""
        if self._asked_at is None:
            return "not asked in time: others answered late"
        return f"no answer within {time.monotonic() - self._asked_at:.1f} s"


class Inquiry:
    """Questions that are asked at once and answered until one deadline, whatever is silent.

    A client that does not return in time is left behind in its thread, which keeps no process from
    ending.

    Args:
        timeout_seconds: for all questions together. Their clients get the same, so that most of
            them say by themselves why there is no answer.
        also: errors that are a server's problem, besides those that answer_or_none knows.
    """

    def __init__(self, timeout_seconds: float, *also: type[Exception]) -> None:
        self.timeout_seconds = timeout_seconds
        self._also = also
        self._began = time.monotonic()
        self._deadline = self._began + timeout_seconds + GRACE_SECONDS
        self._problems: dict[str, str] = {}

    @property
    def problems(self) -> dict[str, str]:
        """The first problem of each server, in the order in which they were found."""
        return dict(self._problems)

    def left(self, part: float) -> float:
        """Returns the seconds until a part of the timeout has passed."""
        return max(0.0, self._began + part * self.timeout_seconds - time.monotonic())

    def ask(
        self,
        server: str,
        question: Callable[..., Answer | None],
        after: Sequence[Reply[Any]] = (),
    ) -> Reply[Answer]:
        """Asks in a thread of its own.

        Args:
            server: name for people, to which a problem belongs.
            question: called with the answers to `after`; not called if one of them has none.
        """
        note = partial(self._problems.setdefault, server)
        reply: Reply[Answer] = Reply(after, self._deadline, server, self._problems)

        def asked(*needed: Any) -> Answer | None:
            return answer_or_none(partial(question, *needed), note, *self._also)

        name = f"ask {server}"
        threading.Thread(target=reply.give, args=(asked,), name=name, daemon=True).start()
        return reply

    def ask_cluster(
        self,
        name: str,
        cluster: KafkaCluster,
        question: Callable[[], Answer | None],
    ) -> Reply[Answer]:
        """Asks a Kafka cluster; one that refuses connections is a problem at once."""

        def asked() -> Answer | None:
            check_listening(name, cluster)
            return question()

        return self.ask(name, asked)
