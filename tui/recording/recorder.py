"""Recorder: writes snapshots to a recording in a thread of its own, beside whatever shows them."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tui.facts.alert import AlertState
from tui.facts.health import ORDER, Health
from tui.facts.snapshot import Snapshot
from tui.recording.frame import Frame, Kind, Packer
from tui.recording.recording_file import NoRecording, OtherWriter, RecordingFile, TooLarge

AGAIN_SECONDS = 10.0
"""Time after which a file that could not be written is opened again."""
END_SECONDS = 2.0
INTERVAL_SECONDS = 2.0
"""Time between two frames, at least: no question is asked more often."""

Opened = Callable[[Path, int], RecordingFile]
FRAMES_MAX = 300
DIFFERENCES_PER_WHOLE_MAX = 2.0
"""Limit of the differences' bytes, as a multiple of the whole frame's.

Where everything moves, a difference takes as many bytes as a whole frame, and is as slow to unpack.
"""
GROUP_PART_MAX = 0.2
"""Part of the recording that a group may take: the others stay when the oldest one goes."""


class Recorder:
    """Recorder of one run. A file that cannot be written is told once, and ends nothing.

    Snapshots that arrive too early wait; of several that wait, the last is written.

    Args:
        path, max_bytes: see RecordingFile.open. Whatever it raises, NoRecording is raised here.
        tell: called from the recorder's thread with a text when writing fails, and when it goes on.
        interval_seconds: time between two frames, at least; the last snapshot is written anyway.
    """

    def __init__(
        self,
        path: Path,
        max_bytes: int,
        tell: Callable[[str], None],
        *,
        interval_seconds: float = INTERVAL_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        opened: Opened = RecordingFile.open,
    ) -> None:
        self._path, self._max_bytes, self._tell = path, max_bytes, tell
        self._interval_seconds = interval_seconds
        self._clock, self._opened = clock, opened
        try:
            self._file: RecordingFile | None = opened(path, max_bytes)
        except (OSError, sqlite3.Error) as error:
            raise NoRecording(f"{path} cannot be written: {cause(error)}") from None
        self._packer, self._marker, self._group = Packer(), Marker(), Group()
        self._failed_at = 0.0
        self._trouble: str | None = None
        self._is_given_up = False
        self._frames = self._left_out = 0
        self._changed = threading.Condition()
        self._waiting: Snapshot | None = None
        self._is_busy = self._is_ending = False
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self._thread.start()

    @property
    def trouble(self) -> str | None:
        """Reason why nothing is recorded now; None when all is well."""
        return self._trouble

    @property
    def is_over(self) -> bool:
        """True when nothing will be written any more, whatever comes."""
        return self._is_given_up

    @property
    def frames(self) -> int:
        """Number of snapshots that were written."""
        return self._frames

    @property
    def left_out(self) -> int:
        """Number of snapshots that could not be written."""
        return self._left_out

    def record(self, snapshot: Snapshot) -> None:
        """Takes a snapshot to write. Never blocks, never raises."""
        with self._changed:
            self._waiting = snapshot
            self._changed.notify_all()

    def settle(self, seconds: float = END_SECONDS) -> bool:
        """Waits until all snapshots so far are written; returns False if that takes longer."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._waiting is None and not self._is_busy, seconds
            )

    def close(self, seconds: float = END_SECONDS) -> bool:
        """Writes what waits and closes the file; returns False if that takes longer.

        The file is whole even then: the thread and the process may end at any time.
        """
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        is_after_frame = False
        while (snapshot := self._next(is_after_frame)) is not None:
            self._write(snapshot)
            is_after_frame = True
        if self._file is not None:
            self._file.close()

    def _next(self, is_after_frame: bool) -> Snapshot | None:
        with self._changed:
            self._is_busy = False
            self._changed.notify_all()
            if is_after_frame:
                self._changed.wait_for(lambda: self._is_ending, self._interval_seconds)
            self._changed.wait_for(lambda: self._waiting is not None or self._is_ending)
            snapshot, self._waiting = self._waiting, None
            self._is_busy = snapshot is not None
            return snapshot

    def _write(self, snapshot: Snapshot) -> None:
        try:
            file = self._writable()
            if file is None:
                self._left_out += 1
                return
            self._append(file, snapshot, self._marker.mark(snapshot))
            self._frames += 1
        except Exception as error:
            self._left_out += 1
            self._failed(error)
            return
        if self._trouble is not None:
            self._trouble = None
            self._tell(f"{self._path} is written again")

    def _append(self, file: RecordingFile, snapshot: Snapshot, mark: str | None) -> None:
        frame = self._packer.packed(snapshot, is_whole=self._group.is_full(self._max_bytes))
        try:
            file.append(frame, mark)
        except TooLarge:
            if frame.kind is Kind.WHOLE:
                raise
            # A difference needs the frames before it; a whole frame may take their room.
            frame = self._packer.packed(snapshot, is_whole=True)
            file.append(frame, mark)
        self._group = self._group.with_frame(frame)

    def _writable(self) -> RecordingFile | None:
        if self._file is None and not self._is_given_up:
            if self._clock() - self._failed_at < AGAIN_SECONDS:
                return None
            self._failed_at = self._clock()
            self._file = self._opened(self._path, self._max_bytes)
            # The frames before the failure may be gone; the next one stands on none of them.
            self._packer, self._group = Packer(), Group()
        return self._file

    def _failed(self, error: Exception) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        self._failed_at = self._clock()
        self._is_given_up = isinstance(error, OtherWriter | NoRecording)
        is_told = self._trouble is not None
        self._trouble = f"nothing is recorded: {reason(error, self._path)}"
        if not is_told:
            self._tell(self._trouble)


def reason(error: Exception, path: Path) -> str:
    """Returns why a recording cannot be written, for people."""
    match error:
        case OtherWriter() | NoRecording() | TooLarge():
            return str(error)
        case sqlite3.Error() | OSError():
            return f"{path}: {cause(error)}"
        case _:
            return f"{path}: unexpected {type(error).__name__}: {error}"


def cause(error: Exception) -> str:
    """Returns the text of an error of the system or of SQLite."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class Marker:
    """Finds the frames to mark. What is unknown in a snapshot stays as it was known before."""

    def __init__(self) -> None:
        self._open: frozenset[str] | None = None
        self._states: dict[str, Health] = {}

    def mark(self, snapshot: Snapshot) -> str | None:
        """Returns what is newly open or worse than in the snapshot before; None for nothing.

        The first snapshot has nothing to be compared with.
        """
        found = [*self._new_alerts(snapshot), *self._worse_routes(snapshot)]
        return "; ".join(found) or None

    def _new_alerts(self, snapshot: Snapshot) -> list[str]:
        if snapshot.alerts is None:
            return []
        is_open = {each.key: each for each in snapshot.alerts if each.state is AlertState.OPEN}
        before, self._open = self._open, frozenset(is_open)
        if before is None:
            return []
        return [f"{each.level} {each.text}" for key, each in is_open.items() if key not in before]

    def _worse_routes(self, snapshot: Snapshot) -> list[str]:
        found = []
        for each in snapshot.routes:
            before = self._states.get(each.route)
            self._states[each.route] = each.state
            if before is not None and ORDER[each.state] < ORDER[before]:
                found.append(f"{each.route} is {each.state}")
        return found


@dataclass(frozen=True, slots=True)
class Group:
    """Sizes of the group that is being written; an empty one has to begin with a whole frame."""

    frames: int = 0
    whole_bytes: int = 0
    difference_bytes: int = 0

    def with_frame(self, frame: Frame) -> Group:
        """Returns the group with this frame; a whole frame begins another group."""
        size = len(frame.content)
        if frame.kind is Kind.WHOLE:
            return Group(1, size, 0)
        return Group(self.frames + 1, self.whole_bytes, self.difference_bytes + size)

    def is_full(self, max_bytes: int) -> bool:
        """Returns True when the next frame should be whole.

        Args:
            max_bytes: limit of the recording.
        """
        return (
            not 0 < self.frames < FRAMES_MAX
            or self.difference_bytes > DIFFERENCES_PER_WHOLE_MAX * self.whole_bytes
            or self.whole_bytes + self.difference_bytes > GROUP_PART_MAX * max_bytes
        )
