"""Problems of servers that give no answer, while the command goes on with what it knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.runtime.store_errors import StoreUnreachable

Found = TypeVar("Found")


def found_or_noted(
    ask: Callable[[], Found], note: Callable[[str], object], *also: type[Exception]
) -> Found | None:
    """Returns what was asked for; None once `note` has received the text of the problem.

    Args:
        also: errors that are problems, besides those of admin requests, followed logs and Redis.
    """
    problems: tuple[type[Exception], ...] = (AdminError, LogUnreadable, StoreUnreachable, *also)
    try:
        return ask()
    except problems as problem:
        note(str(problem))
        return None
