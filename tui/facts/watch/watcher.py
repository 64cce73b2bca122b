"""Watcher of an appliance: asks each question again and again, in a thread of its own.

A silent server holds up its own questions alone, and nobody who reads the answers.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from tui.facts.watch.look import PROBLEMS, asked_value
from tui.facts.watch.problems import answer_or_none
from tui.facts.watch.question import NO_ANSWER, Answer, Answers, Key, Question
from tui.facts.watch.spotlight import FocusLike, Spotlight

logger = logging.getLogger(__name__)
STEP_SECONDS = 1.0
"""Difference from which the clock was set, and does not only run a little slow or fast."""


class Watcher:
    """Watcher of questions; all methods return at once, except `await_news`.

    Args:
        timeout_seconds: of the questions' clients; a question that is open for longer counts as
            unanswered.
        spotlight: that the questions read.
        clock: of all times; by default that of the machine.
    """

    def __init__(
        self,
        questions: Iterable[Question],
        timeout_seconds: float,
        spotlight: Spotlight | None = None,
        clock: WallClock | None = None,
    ) -> None:
        self.clock = clock or WallClock()
        self._spotlight = spotlight or Spotlight()
        self._is_closed = False
        self._news = threading.Condition()
        self._news_count = 0
        self._beats = {each.key: _Beat(each, self, timeout_seconds) for each in questions}
        for beat in self._beats.values():
            for key in beat.question.needs:
                self._beats[key].dependents.append(beat)

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(beat.question for beat in self._beats.values())

    def start(self) -> None:
        """Begins to ask."""
        for beat in self._beats.values():
            name = f"watch {beat.question.key.server}, {beat.question.key.about}"
            threading.Thread(target=beat.run, name=name, daemon=True).start()

    def ask_now(self) -> None:
        """Asks all questions that are not open."""
        for beat in self._beats.values():
            beat.wake.set()

    def set_focus(self, focus: FocusLike) -> None:
        """Asks about what is on screen from now on."""
        if self._spotlight.turn(focus):
            for beat in self._beats.values():
                if beat.question.follows_focus:
                    beat.wake.set()

    def answers(self) -> Answers:
        """Returns the last answers. A question that is open for too long has a problem."""
        self.clock.follow()
        return Answers({key: beat.answer() for key, beat in self._beats.items()})

    def await_news(self, known: int, timeout_seconds: float) -> int:
        """Returns the number of answers so far, once it is above `known` or the time is over."""
        with self._news:
            self._news.wait_for(
                lambda: self._news_count > known or self._is_closed, timeout_seconds
            )
            return self._news_count

    def close(self) -> None:
        """Ends the watch. Open questions end by themselves, or with the process."""
        self._is_closed = True
        for beat in self._beats.values():
            beat.wake.set()
        self.tell_news()

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def value(self, key: Key) -> Answer:
        """Returns the last answer to a question as it came; times are those of the watch."""
        return self._beats[key].last

    def tell_news(self) -> None:
        """Wakes up those who wait for news."""
        with self._news:
            self._news_count += 1
            self._news.notify_all()


class _Beat:
    """Beat of one question: its thread, and the last answer. Moments are monotonic."""

    def __init__(self, question: Question, watcher: Watcher, timeout_seconds: float) -> None:
        self.question = question
        self.last = NO_ANSWER
        self.wake = threading.Event()
        self.dependents: list[_Beat] = []
        self._watcher, self._clock = watcher, watcher.clock
        own = question.timeout_seconds
        self._timeout_seconds = timeout_seconds if own is None else own
        self._open_since: float | None = None

    def answer(self) -> Answer:
        """Returns the last answer, with times in Unix seconds."""
        found, unix = self._answer(self._clock.moment()), self._clock.unix
        return Answer(found.value, unix(found.asked_at), found.problem, unix(found.problem_since))

    def _answer(self, now: float) -> Answer:
        last, since = self.last, self._open_since
        if since is None or now - since <= self._timeout_seconds or last.problem is not None:
            return last
        text = f"{self.question.key.server}: no answer within {self._timeout_seconds:g} s"
        return Answer(last.value, last.asked_at, text, since)

    def run(self) -> None:
        """Asks until the watcher is closed."""
        try:
            while not (self._watcher.is_closed or self._is_done):
                self.wake.clear()
                began = self._clock.moment()
                if self._can_ask():
                    self._ask()
                # A question without what it needs is woken up by the first answer to that.
                left = began + max(self.question.cadence_seconds, 0.05) - self._clock.moment()
                self.wake.wait(max(0.0, left))
        finally:
            self._close()

    @property
    def _is_done(self) -> bool:
        return self.question.is_once and self.last.asked_at is not None

    def _can_ask(self) -> bool:
        return all(self._watcher.value(key).asked_at is not None for key in self.question.needs)

    def _ask(self) -> None:
        asked_at = self._clock.moment()
        needed = [self._watcher.value(key).value for key in self.question.needs]
        problem: list[str] = []
        self._open_since = asked_at
        try:
            value = answer_or_none(
                lambda: asked_value(self.question, needed), problem.append, *PROBLEMS
            )
        except Exception as error:
            # A mistake of ours. One question less is better than none.
            logger.debug("%s: %s", *self.question.key, exc_info=True)
            problem.append(f"{self.question.key.server}: {type(error).__name__}: {error}")
            value = None
        is_first = self.last.asked_at is None
        self.last = self._next(value, asked_at, problem)
        self._open_since = None
        if is_first and not problem:
            for beat in self.dependents:
                beat.wake.set()
        self._watcher.tell_news()

    def _next(self, value: object, asked_at: float, problem: list[str]) -> Answer:
        if not problem:
            return Answer(value, asked_at)
        last = self.last
        since = last.problem_since if last.problem is not None else asked_at
        return Answer(last.value, last.asked_at, problem[0], since)

    def _close(self) -> None:
        try:
            self.question.close()
        except Exception as error:
            logger.debug("%s: not closed: %s", self.question.key.server, error)


class WallClock:
    """Wall clock that tells moments of the monotonic clock as Unix seconds.

    Args:
        wall, steady: clocks of the machine; for tests.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall, self.moment = wall, steady
        self._offset = wall() - steady()

    def follow(self) -> None:
        """Tells all moments by the new time from now on, if the clock of the machine was set."""
        offset = self._wall() - self.moment()
        if abs(offset - self._offset) >= STEP_SECONDS:
            self._offset = offset

    def unix(self, moment: float | None) -> float | None:
        """Returns a moment in Unix seconds; None of None."""
        return None if moment is None else moment + self._offset
