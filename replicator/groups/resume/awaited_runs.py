"""Runs for the partitions that need them, read in a thread so that the consumer never waits."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from balancer.topic_partition import TopicPartition
from replicator.groups.resume.runs_reader import Answer, Question, RunsReader
from replicator.kafka.admin.admin_error import AdminError
from replicator.mirror.offset_map.packed_map import BrokenPiece, UnknownVersion
from replicator.runtime.store_errors import StoreUnreachable

logger = logging.getLogger(__name__)

READ_SECONDS = 0.05
"""Least time between two questions. At most a fifth of the time is spent asking."""
RETRY_SECONDS = 1.0
Answers = dict[TopicPartition, Answer]
Questions = dict[TopicPartition, Question]


class AwaitedRuns:
    """Questions to a RunsReader, one at a time, in a thread."""

    def __init__(self, reader: RunsReader) -> None:
        self._reader = reader
        self._threads = ThreadPoolExecutor(1, "sluice-resume")
        self._asked: tuple[Questions, Future[tuple[Answers, float]]] | None = None
        self._ask_at = 0.0
        self.trouble: str | None = None
        """Reason why runs cannot be read now; None: they can."""

    def close(self) -> None:
        """Waits for the present question, some seconds at most, and closes the reader."""
        self._threads.submit(self._reader.close)
        self._threads.shutdown()

    def ask(self, questions: Mapping[TopicPartition, Question]) -> None:
        """Asks for runs, unless a question is under way or it is too soon for the next."""
        if self._asked is None and questions and time.monotonic() >= self._ask_at:
            asked = dict(questions)
            self._asked = asked, self._threads.submit(timed, self._reader.read, asked)

    def answers(self) -> dict[TopicPartition, tuple[Question, Answer]]:
        """Returns the answers that have arrived, each with its question; does not wait.

        An answer has only what is new since its question was last answered. It is of no use to
        another question.
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
        return {partition: (questions[partition], answer) for partition, answer in answers.items()}

    def _note(self, trouble: str | None) -> None:
        """Logs a trouble when it begins, and when it ends."""
        before, self.trouble = self.trouble, trouble
        if trouble and not before:
            logger.warning("event=runs-unread %s; records that need them wait", trouble)
        elif before and not trouble:
            logger.warning("event=runs-read-again")


def timed(
    read: Callable[[Mapping[TopicPartition, Question]], Answers],
    questions: Mapping[TopicPartition, Question],
) -> tuple[Answers, float]:
    """Returns the answers, and how many seconds they took."""
    began = time.monotonic()
    return read(questions), time.monotonic() - began
