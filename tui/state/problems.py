"""Problems of servers that give no answer, while the caller goes on with what is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.runtime.store_errors import StoreUnreachable

Answer = TypeVar("Answer")


def answer_or_none(
    ask: Callable[[], Answer], note: Callable[[str], object], *also: type[Exception]
) -> Answer | None:
    """Returns the answer; None once `note` has received the text of the problem.

    Args:
        also: errors that are problems, besides those of admin requests, tailed logs and Redis.
    """
    problems: tuple[type[Exception], ...] = (AdminError, LogUnreadable, StoreUnreachable, *also)
    try:
        return ask()
    except problems as problem:
        note(str(problem))
        return None
