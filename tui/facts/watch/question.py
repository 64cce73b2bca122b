"""Question to one server, and its answers as they came."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from replicator.config.topology import KafkaCluster


class Key(NamedTuple):
    """Key of a question: the server, by its name for people, and the subject."""

    server: str
    about: str


def _nothing() -> None:
    """Closes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Question that is asked with a cadence, always in the same thread.

    Args:
        ask: called with the last answers to `needs`, in that order. It may keep its client. Raises
            one of the errors that mean an unreachable server (problems.py).
        needs: questions without whose answers this one is not asked.
        cluster: asked only once it accepts connections, so that a refusal counts at once.
        waits_for: questions that a single look lets be answered before, if that comes in time.
        late_part: part of the timeout for which it waits for them.
        timeout_seconds: time after which it counts as unanswered while it is open; None: that of
            the clients.
        follows_focus: asked at once when other things come on screen.
        is_once: asked until it has been answered once; the cadence is the time between two tries.
        close: closes the client that is kept.
    """

    key: Key
    cadence_seconds: float
    ask: Callable[..., Any]
    needs: tuple[Key, ...] = ()
    cluster: KafkaCluster | None = None
    waits_for: tuple[Key, ...] = ()
    late_part: float = 0.3
    timeout_seconds: float | None = None
    follows_focus: bool = False
    is_once: bool = False
    close: Callable[[], object] = _nothing


@dataclass(frozen=True, slots=True)
class Answer:
    """Last answer to a question. Times are Unix seconds.

    Args:
        value: None: never answered.
        asked_at: when the question was asked that gave `value`.
        problem: why the last try has no answer; None when it has one.
        problem_since: when that problem began.
    """

    value: Any = None
    asked_at: float | None = None
    problem: str | None = None
    problem_since: float | None = None


NO_ANSWER = Answer()


@dataclass(frozen=True, slots=True)
class Answers:
    """All last answers, at one moment."""

    by_key: Mapping[Key, Answer]

    def answer(self, key: Key) -> Answer:
        """Returns the last answer; an empty one to a question that was never answered."""
        return self.by_key.get(key, NO_ANSWER)

    def value(self, key: Key) -> Any:
        """Returns the last value; None when there is none."""
        return self.answer(key).value
