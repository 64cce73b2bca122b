"""Problems of servers that give no answer, while the caller goes on with what is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.runtime.store_errors import StoreForbidden, StoreUnreachable
from tui.facts.part import LACKS_RIGHT, tells_missing_right

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
        note(problem_text(problem))
        return None


def problem_text(problem: Exception) -> str:
    """Returns the text of a problem; a right that is missing is called so after the server."""
    text = str(problem)
    if LACKS_RIGHT in text:
        return text
    if not isinstance(problem, StoreForbidden) and not tells_missing_right(text):
        return text
    server, colon, rest = text.partition(": ")
    return f"{server}: {LACKS_RIGHT}: {rest}" if colon else f"{LACKS_RIGHT}: {text}"
