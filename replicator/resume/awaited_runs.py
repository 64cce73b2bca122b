"""Runs for the partitions that want them, read beside the consumer so that it never waits."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from balancer.plan import TopicPartition
from replicator.offsets.packed_map import BrokenPiece, UnknownVersion
from replicator.offsets.store_unreachable import StoreUnreachable
from replicator.resume.runs_reader import Answer, Question, RunsReader
from replicator.topics.admin_error import AdminError

logger = logging.getLogger(__name__)

READ_SECONDS = 0.05
"""Between two questions; and no more than a fifth of the time is spent asking."""
RETRY_SECONDS = 1.0
Answers = dict[TopicPartition, Answer]
Questions = dict[TopicPartition, Question]


class AwaitedRuns:
    """One question at a time, in a thread of its own."""

    def __init__(self, reader: RunsReader) -> None:
        self._reader = reader
        self._threads = ThreadPoolExecutor(1, "sluice-resume")
        self._asked: tuple[Questions, Future[tuple[Answers, float]]] | None = None
        self._ask_at = 0.0
        self.trouble: str | None = None
        """Why nothing is told just now; None: nothing stands in the way."""

    def close(self) -> None:
        """Ends once the present question has, within seconds."""
        self._threads.submit(self._reader.close)
        self._threads.shutdown()

    def ask(self, questions: Mapping[TopicPartition, Question]) -> None:
        """Unless a question is on its way, or it is too soon for the next."""
        if self._asked is None and questions and time.monotonic() >= self._ask_at:
            asked = dict(questions)
            self._asked = asked, self._threads.submit(timed, self._reader.read, asked)

    def answers(self) -> dict[TopicPartition, tuple[Question, Answer]]:
        """What has come meanwhile, and to which question; does not wait.

        An answer is what the question had not been told: it is of no use to another one.
        """
        if self._asked is None or not self._asked[1].done():
            return {}
        (questions, asked), self._asked = self._asked, None
        now = time.monotonic()
        try:
            answers, seconds = asked.result()
        except (AdminError, StoreUnreachable, UnknownVersion, BrokenPiece) as error:
            self._note(str(error))
            self._ask_at = now + RETRY_SECONDS
            return {}
        self._note(None)
        self._ask_at = now + max(READ_SECONDS, 4 * seconds)
        return {place: (questions[place], answer) for place, answer in answers.items()}

    def _note(self, trouble: str | None) -> None:
        """Says a trouble when it begins, and its end."""
        before, self.trouble = self.trouble, trouble
        if trouble and not before:
            logger.warning("event=runs-unread %s; records that need them wait", trouble)
        elif before and not trouble:
            logger.warning("event=runs-read-again")


def timed(
    read: Callable[[Mapping[TopicPartition, Question]], Answers],
    questions: Mapping[TopicPartition, Question],
) -> tuple[Answers, float]:
    """The answers, and the seconds it took to get them."""
    began = time.monotonic()
    return read(questions), time.monotonic() - began
