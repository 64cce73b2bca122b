"""Replay of a recording: a source of snapshots, as the servers are one for a live console."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from tui.facts.snapshot import Snapshot
from tui.recording.reader import Moment, Reader
from tui.recording.tables import Damaged

logger = logging.getLogger(__name__)

FOLLOW_SECONDS = 1.0
"""Time between two looks for new frames at the end of a recording: it may still be written."""
END_SECONDS = 2.0
GAP_SECONDS_MAX = 60.0
"""Longest time without frames that is played; of a longer one only its end."""
GAP_SHOWN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ReplayState:
    """State of a replay.

    Args:
        at, begin, end: Unix seconds of the frame that is shown, of the first and of the last.
        mark: what got worse with the frame that is shown; None for nothing.
        is_at_end: there is no later frame yet.
        problem: why a frame could not be shown, or was not found; None when the last one could.
    """

    at: float
    begin: float
    end: float
    speed: float
    mark: str | None = None
    is_at_end: bool = False
    problem: str | None = None


class Replay:
    """Replay that a thread of its own plays. Methods return at once; any thread may call them.

    Args:
        reader: used by that thread alone from `start` on, and closed by it.
        clock: seconds; after a change of it other than by time, call `wake`.
    """

    problem = ""
    """Reason why no newer snapshot is made: none, as the state says what cannot be shown."""

    def __init__(
        self, reader: Reader, *, clock: Callable[[], float] = time.monotonic, speed: float = 1.0
    ) -> None:
        self._reader, self._clock = reader, clock
        self._shown = reader.first()
        self._playback = Playback(self._shown.at, clock(), speed)
        self._problem: str | None = None
        self._state = self._new_state()
        self._changed = threading.Condition()
        self._commands: deque[Callable[[], None]] = deque()
        self._is_closed = False
        self._on_snapshot: Callable[[Snapshot], None] = lambda _: None
        self._thread = threading.Thread(target=self._work, name="replay", daemon=True)

    @property
    def state(self) -> ReplayState:
        """State after the last frame that was shown, or the last change."""
        return self._state

    def start(self, on_snapshot: Callable[[Snapshot], None]) -> None:
        """Begins to call `on_snapshot`, from the replay's thread, with the first frame at once."""
        self._on_snapshot = on_snapshot
        self._thread.start()

    def ask_now(self) -> None:
        """Does nothing: there is nobody to ask."""

    def set_focus(self, focus: object) -> None:
        """Does nothing: a recording holds what was asked when it was made."""

    def step(self, snapshots: int) -> None:
        """Goes on by some frames, or back where negative; playing stops."""
        self._enqueue(lambda: self._step(snapshots))

    def seek(self, at: float) -> None:
        """Goes to the last frame that is not later than a time in Unix seconds."""
        self._enqueue(lambda: self._go(self._reader.at(at)))

    def seek_alert(self) -> None:
        """Goes to the next frame with a new alert or a worse route, and stops playing there.

        Where there is none, all goes on, and the state says so.
        """
        self._enqueue(self._seek_alert)

    def set_speed(self, factor: float) -> None:
        """Plays `factor` times as fast as recorded; 0 stops."""
        now = self._clock()
        self._enqueue(lambda: self._set_speed(factor, now))

    def wake(self) -> None:
        """Has the replay look at its clock again."""
        self._enqueue(lambda: None)

    def close(self) -> None:
        """Ends; `on_snapshot` is not called any more, unless a call of it takes seconds."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread.ident is None:
            self._reader.close()
        elif self._thread is not threading.current_thread():
            self._thread.join(END_SECONDS)

    def _enqueue(self, command: Callable[[], None]) -> None:
        with self._changed:
            self._commands.append(command)
            self._changed.notify_all()

    def _work(self) -> None:
        pause = self._attempt(lambda: self._show(self._shown))
        while True:
            self._state = self._new_state()
            # After a failure it is not tried again at once: that would take a whole core.
            seconds = pause or self._attempt(self._seconds_to_next)
            with self._changed:
                self._changed.wait_for(lambda: self._commands or self._is_closed, seconds)
                if self._is_closed:
                    break
                command = self._commands.popleft() if self._commands else self._play
            pause = self._attempt(command)
        self._reader.close()

    def _attempt(self, command: Callable[[], float | None]) -> float | None:
        """Does something with the recording; returns a pause in seconds after a failure.

        What is damaged is passed over, and no error of whoever shows a snapshot ends the replay.
        """
        try:
            return command()
        except Damaged as damage:
            self._problem = str(damage)
        except Exception as error:
            logger.debug("a snapshot was not shown", exc_info=True)
            self._problem = f"{type(error).__name__}: {error}"
        return FOLLOW_SECONDS

    def _seconds_to_next(self) -> float | None:
        following, now = self._reader.next(self._shown), self._clock()
        if following is None:
            # Time stands still at the end, so that a frame that comes later is not passed over.
            self._playback = self._playback.moved(self._shown.at, now)
            return FOLLOW_SECONDS
        self._playback = self._playback.without_gap(self._shown.at, following.at, now)
        return self._playback.wait_seconds(following.at, now)

    def _play(self) -> None:
        """Shows the frame that is due now; frames that are late are left out."""
        now = self._clock()
        at, due = self._playback.time(now), self._reader.next(self._shown)
        if due is None or due.at > at:
            return
        if due.at < self._shown.at:
            # The recorder's clock went back here. Without this, all that follows would be due.
            self._playback = self._playback.moved(due.at, now)
            at = due.at
        while (following := self._reader.next(due)) is not None and due.at <= following.at <= at:
            due = following
        self._show(due)

    def _step(self, snapshots: int) -> None:
        self._set_speed(0.0, self._clock())
        found = self._shown
        towards = self._reader.next if snapshots > 0 else self._reader.previous
        for _ in range(abs(snapshots)):
            found = towards(found) or found
        self._go(found)

    def _seek_alert(self) -> None:
        found = self._reader.next_mark(self._shown)
        if found is None:
            self._problem = "no later alert"
            return
        self._set_speed(0.0, self._clock())
        self._go(found)

    def _set_speed(self, factor: float, now: float) -> None:
        self._playback = self._playback.with_speed(max(0.0, factor), now)

    def _go(self, moment: Moment | None) -> None:
        if moment is not None:
            self._playback = self._playback.moved(moment.at, self._clock())
            self._show(moment)

    def _show(self, moment: Moment) -> None:
        try:
            snapshot = self._reader.snapshot(moment)
        except Damaged as damage:
            # The next whole frame stands on nothing that is damaged.
            whole = self._reader.next_whole(moment)
            self._problem = str(damage)
            self._shown = whole or moment
            if whole is None:
                return
            self._playback = self._playback.moved(whole.at, self._clock())
            snapshot = self._reader.snapshot(whole)
        else:
            self._shown, self._problem = moment, None
        self._state = self._new_state()
        if not self._is_closed:
            self._on_snapshot(snapshot)

    def _new_state(self) -> ReplayState:
        try:
            begin, last = self._reader.first(), self._reader.last()
        except Damaged:
            begin = last = self._shown
        return ReplayState(
            self._shown.at,
            begin.at,
            last.at,
            self._playback.speed,
            self._shown.mark,
            self._shown.frame >= last.frame,
            self._problem,
        )


@dataclass(frozen=True, slots=True)
class Playback:
    """Playback since it was last changed. Times of the clock are seconds of any origin.

    Args:
        at: time of the recording at `since`, in Unix seconds.
        since: time of the clock.
        speed: seconds of the recording in a second of the clock; 0 stands still.
    """

    at: float
    since: float
    speed: float = 1.0

    def time(self, clock: float) -> float:
        """Returns the time of the recording."""
        return self.at + (clock - self.since) * self.speed

    def wait_seconds(self, at: float, clock: float) -> float | None:
        """Returns the seconds until a time of the recording is due; None while it stands still."""
        if not self.speed:
            return None
        return max(0.0, (at - self.time(clock)) / self.speed)

    def with_speed(self, speed: float, clock: float) -> Playback:
        """Returns the playback that goes on from here at another speed."""
        return Playback(self.time(clock), clock, speed)

    def moved(self, at: float, clock: float) -> Playback:
        """Returns the playback that goes on from another time of the recording."""
        return Playback(at, clock, self.speed)

    def without_gap(self, shown_at: float, next_at: float, clock: float) -> Playback:
        """Returns the playback that is shortly before the next frame, if that is far away.

        Args:
            shown_at, next_at: times of the frame that is shown, and of the next one.
        """
        soon = next_at - GAP_SHOWN_SECONDS * self.speed
        if next_at - shown_at <= GAP_SECONDS_MAX or self.time(clock) >= soon:
            return self
        return self.moved(soon, clock)
