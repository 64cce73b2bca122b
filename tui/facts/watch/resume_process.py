"""Process beside the console that works out resume offsets of the group on screen."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from replicator.config.topology import Appliance
from tui.facts.group_view import GroupDetail
from tui.facts.part import THIS_CONSOLE
from tui.facts.watch.question import Answers, Key, Question
from tui.facts.watch.resume_worker import DETAIL, first_line

WORKER = (sys.executable, "-P", "-m", "tui.facts.watch.resume_worker")
# One group takes a second. Servers that are silent cost the worker two timeouts.
PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 1.0
"""Time between two looks at the group that is on screen."""
WORK_SECONDS = 5.0
"""Age above which the offsets of the group on screen are worked out anew."""

DETAIL_KEY = Key(THIS_CONSOLE, "resume offsets")
GroupFocus = tuple[str, str, str]
"""Group, source region and target region."""


class ResumeProcess:
    """Worker's process, started with the first question and again after a crash.

    Args:
        command: starts the worker; its input begins with `opening`.
    """

    def __init__(
        self,
        opening: bytes,
        *,
        command: Sequence[str] = WORKER,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._opening = opening
        self._command = tuple(command)
        self._patience_seconds = patience_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False
        self._lock = threading.Lock()

    @property
    def patience_seconds(self) -> float:
        """Time after which a worker counts as too slow."""
        return self._patience_seconds

    @classmethod
    def of(cls, appliance: Appliance, timeout_seconds: float) -> ResumeProcess:
        """Returns the process for an appliance; nothing is started yet."""
        return cls(first_line(appliance, timeout_seconds))

    def detail(self, group: str, source: str, target: str) -> GroupDetail:
        """Returns the worker's answer; a worker that ended or was too slow is its problem.

        Blocking, for one thread.
        """
        try:
            line = self._answer(json.dumps([group, source, target]).encode() + b"\n")
            return DETAIL.validate_json(line)
        except (OSError, ValueError) as error:
            self._end()
            return GroupDetail(
                group=group,
                source=source,
                target=target,
                worked_out_at=time.time(),
                problem=f"resume offsets: {error}",
            )

    def close(self) -> None:
        """Ends the worker for good; may be called from any thread."""
        with self._lock:
            self._is_closed = True
        self._end()

    def _answer(self, question: bytes) -> bytes:
        """Raises OSError when the worker gives no answer."""
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        is_late = threading.Event()

        def give_up() -> None:
            is_late.set()
            process.kill()

        late = threading.Timer(self._patience_seconds, give_up)
        late.daemon = True
        late.start()
        try:
            process.stdin.write(question)
            process.stdin.flush()
            line = process.stdout.readline()
        finally:
            late.cancel()
        if not line:
            if is_late.is_set():
                raise OSError(f"no answer within {self._patience_seconds:g} s")
            raise OSError(f"the process that works them out ended with {process.wait()}")
        return line

    def _running(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_closed:
                raise OSError("the console ends")
            if self._process is None:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    # Its warnings would be written across the screen.
                    stderr=subprocess.DEVNULL,
                )
                assert self._process.stdin is not None
                self._process.stdin.write(self._opening)
            return self._process

    def _end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def resume_question(
    process: ResumeProcess,
    focus: Callable[[], GroupFocus | None],
    clock: Callable[[], float] = time.time,
) -> Question:
    """Returns the question about the group on screen; its answer is None without one.

    Args:
        focus: returns the group that is on screen now.
        clock: Unix seconds.
    """
    last: GroupDetail | None = None

    def ask() -> GroupDetail | None:
        nonlocal last
        wanted = focus()
        if wanted is None:
            last = None
        elif (
            last is None or wanted != _focus_of(last) or clock() - last.worked_out_at > WORK_SECONDS
        ):
            last = process.detail(*wanted)
        return last

    return Question(
        key=DETAIL_KEY,
        cadence_seconds=LOOK_SECONDS,
        ask=ask,
        timeout_seconds=process.patience_seconds + LOOK_SECONDS,
        follows_focus=True,
        close=process.close,
    )


def resume_fields(answers: Answers, now: float) -> dict[str, object]:
    """Returns the snapshot's field `group_detail`."""
    return {"group_detail": answers.value(DETAIL_KEY)}


def _focus_of(detail: GroupDetail) -> GroupFocus:
    return detail.group, detail.source, detail.target
