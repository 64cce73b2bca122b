"""Recording without a screen, until a signal or the end of its time."""

from __future__ import annotations

import logging
import math
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

from tui.facts.snapshot import Snapshot
from tui.recording.recorder import Recorder

log = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
DRAIN_SECONDS = 10.0
STEP_SECONDS = 0.5
NO_FRAME_SECONDS = 30.0
"""Time after which a log line tells that there is no frame yet."""


class Source(Protocol):
    """Source of snapshots."""

    def start(self, on_snapshot: Callable[[Snapshot], None]) -> None:
        """Begins to call `on_snapshot`, from a thread of the source, for each new snapshot."""

    def close(self) -> None:
        """Ends; `on_snapshot` is not called any more."""


Ends = SimpleQueue[str]
"""Queue of reasons to end. A signal handler may put into it, whatever is interrupted."""


def record(
    path: Path,
    max_bytes: int,
    opened: Callable[[Callable[[str], None]], Source],
    seconds: float | None,
    ends: Ends | None = None,
) -> bool:
    """Records until a signal, or for some seconds; returns True if all was written in the end.

    Raises NoRecording, and what `opened` raises.

    Args:
        opened: makes the source, once the file is known to be usable. The source calls the argument
            with the reason why it can make no snapshot, and with "" once it can again.
        ends: also ends what is put into it.
    """
    ends = ends or SimpleQueue()

    def tell(text: str) -> None:
        if recorder.trouble is None:
            log.info("event=recording-again %s", text)
        else:
            log.warning("event=recording-trouble %s", text)
        if recorder.is_over:
            ends.put("nothing more can be recorded")

    recorder = Recorder(path, max_bytes, tell)
    try:
        _end_on_signals(ends)
        source = opened(_tell_source)
    except BaseException:
        recorder.close()
        raise
    log.info("event=recording file=%s max_mib=%.0f", path, max_bytes / 2**20)
    return _run(recorder, source, ends, seconds)


def _tell_source(problem: str) -> None:
    if problem:
        log.warning("event=no-snapshot %s", problem)
    else:
        log.info("event=snapshots-again")


def _run(recorder: Recorder, source: Source, ends: Ends, seconds: float | None) -> bool:
    began = time.monotonic()
    source.start(recorder.record)
    why = _wait(ends, seconds, recorder)
    log.info("event=stopping why=%s", why)
    source.close()
    is_drained = recorder.close(DRAIN_SECONDS)
    log.info(
        "event=stopped frames=%d left_out=%d seconds=%.0f",
        recorder.frames,
        recorder.left_out,
        time.monotonic() - began,
    )
    return is_drained and recorder.trouble is None


def _wait(ends: Ends, seconds: float | None, recorder: Recorder) -> str:
    """Returns why the recording ends; waits for that."""
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    first = time.monotonic() + NO_FRAME_SECONDS
    if first < deadline:
        with suppress(Empty):
            return _until(ends, first)
        if not recorder.frames:
            log.warning("event=no-frame nothing was recorded in %.0f s", NO_FRAME_SECONDS)
    try:
        return _until(ends, deadline)
    except Empty:
        return "its time is over"


def _until(ends: Ends, deadline: float) -> str:
    """Returns the next reason to end; raises Empty at the deadline.

    Waits in short steps: a signal that comes right before a wait does not interrupt it.
    """
    while True:
        left = deadline - time.monotonic()
        try:
            return ends.get(timeout=max(0.0, min(STEP_SECONDS, left)))
        except Empty:
            if left <= STEP_SECONDS:
                raise


def _end_on_signals(ends: Ends) -> None:
    for number in SIGNALS:
        # With nohup, the recorder outlives its terminal.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: ends.put(signal.Signals(number).name))
