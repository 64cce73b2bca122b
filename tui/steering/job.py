"""Job: one `sluice` command that the console has started, as its files show it."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import StrEnum

from tui.orders.exit_code import MEANINGS, ExitCode
from tui.steering.steered_command import as_typed, changes, way_out

SIGNALLED = 128
"""Exit codes above it mean that a signal of the remaining number ended the process."""
LOST_TEXT = "not known: it ended without an exit code, killed or by a restart of the machine"


class JobState(StrEnum):
    """States of a job."""

    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Job of the console. Times are Unix seconds.

    Args:
        words: of the command line, without the program's name; empty where they cannot be read.
        who: operator who started it.
        pid: of the command's process; None before it runs.
        exit_code: None while it runs, and when it is lost.
        tail: last lines of its error output, as they are: they are not safe for a terminal.
        result: lines of what it has printed as its result, once it has ended; as unsafe.
    """

    job_id: str
    words: tuple[str, ...]
    started_at: float
    state: JobState
    who: str = ""
    pid: int | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    tail: tuple[str, ...] = ()
    result: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """Command as it is typed in a shell."""
        return as_typed(self.words)

    @property
    def is_known(self) -> bool:
        """True when it has ended, and its exit code says what it did."""
        if self.exit_code is None or self.exit_code >= SIGNALLED:
            return False
        return self.exit_code != ExitCode.RESULT_UNKNOWN

    @property
    def meaning(self) -> str:
        """State in words: that it runs, what the exit code means, or that this is not known."""
        if self.state is JobState.RUNNING:
            return "running"
        if self.exit_code is None:
            return LOST_TEXT
        if self.exit_code >= SIGNALLED:
            name = _signal_name(self.exit_code - SIGNALLED)
            return f"not known: {name} ended it, and some of it may be done"
        try:
            return MEANINGS[ExitCode(self.exit_code)]
        except ValueError:
            return f"ended with exit code {self.exit_code}, which has no meaning"

    @property
    def way_out(self) -> tuple[str, ...]:
        """Words of the command that shows what was done; empty while it runs, and when known.

        A command that changes something may have failed half way.
        """
        if self.state is JobState.RUNNING:
            return ()
        failed = self.exit_code == ExitCode.FAILED and changes(self.words)
        return () if self.is_known and not failed else way_out(self.words)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
