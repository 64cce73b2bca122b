"""Busy store: a request is asked again while the store has too much to do, or does not take the
credentials, which may have changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from aggregator.s3.answers import Answer, StoreProblem
from replicator.runtime.backoff import Backoff
from replicator.runtime.clock import sleep

Result = TypeVar("Result")
ATTEMPTS = 6


def until_answered(ask: Callable[[], Result], pause: Callable[[float], None] = sleep) -> Result:
    """Returns what the store answers. Blocking.

    Args:
        ask: asks once; the same each time.
        pause: called with the seconds before the next attempt.

    Raises:
        StoreProblem: the answer is another error, or still the same one.
    """
    backoff = Backoff(0.1, 10.0)
    for _ in range(ATTEMPTS - 1):
        try:
            return ask()
        except StoreProblem as problem:
            if problem.answer is not Answer.BUSY and not problem.is_of_credentials:
                raise
        pause(backoff.jittered(0.5, 1.0))
        backoff.grow()
    return ask()
