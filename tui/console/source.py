"""Source of snapshots, and what a console is opened with: protocols that the program fills."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tui.pages.page import Action, Focus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tui.facts.snapshot import Snapshot
    from tui.steering.job import Job


class SnapshotSource(Protocol):
    """Source of snapshots. All methods return at once and may be called from any thread."""

    def start(self, on_snapshot: Callable[[Snapshot], None]) -> None:
        """Begins to call `on_snapshot`, from a thread of the source, for each new snapshot."""

    def ask_now(self) -> None:
        """Asks all servers now, whatever their cadences."""

    def set_focus(self, focus: Focus) -> None:
        """Says what is on screen, so that it is asked about more often."""

    def close(self) -> None:
        """Ends; `on_snapshot` is not called any more."""


@runtime_checkable
class FailingSource(Protocol):
    """Source that tells why it cannot make newer snapshots."""

    @property
    def problem(self) -> str:
        """Reason in words; "" when it can."""


class ReplayState(Protocol):
    """State of a replay."""

    @property
    def speed(self) -> float:
        """Seconds of the recording in a second; 0: it stands."""

    @property
    def mark(self) -> str | None:
        """Text of what got worse with the snapshot that is shown."""

    @property
    def is_at_end(self) -> bool:
        """True when there is no later snapshot."""

    @property
    def problem(self) -> str | None:
        """Reason why a snapshot could not be shown."""


@runtime_checkable
class ReplaySource(SnapshotSource, Protocol):
    """Source that plays a recording."""

    def step(self, snapshots: int) -> None:
        """Goes on by some snapshots, or back where negative; playing stops."""

    @property
    def state(self) -> ReplayState:
        """State after the snapshot that was given last."""

    def seek(self, at: float) -> None:
        """Goes to the last snapshot that is not after a time in Unix seconds."""

    def seek_alert(self) -> None:
        """Goes to the next snapshot in which an alert is new."""

    def set_speed(self, factor: float) -> None:
        """Plays `factor` times as fast as recorded; 0 stops."""


class JobRefused(Exception):
    """A job was not started, and nothing runs. The text says what to correct."""


class Jobs(Protocol):
    """Starter and list of jobs. Methods may block for a moment: they are called in a thread."""

    def start(self, action: Action, values: Mapping[str, str]) -> Job:
        """Starts the command of an action; `values` by name of the field. Raises JobRefused."""

    def jobs(self) -> Sequence[Job]:
        """Returns the jobs, the newest first."""

    def known(self) -> Sequence[Job]:
        """Returns the jobs that `jobs` has returned last. It never blocks."""

    def command(self, action: Action, values: Mapping[str, str]) -> str:
        """Returns the exact command that `start` would run, or that is copied.

        Raises JobRefused.
        """


class SnapshotRecorder(Protocol):
    """Recorder of snapshots into a file."""

    def record(self, snapshot: Snapshot) -> None:
        """Takes a snapshot to write. Never blocks, never raises."""

    def close(self) -> object:
        """Writes what waits, and closes the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Parts of a console that take time to make: they are made while the first frame is shown.

    Args:
        recorder: None when nothing is recorded.
    """

    source: SnapshotSource
    jobs: Jobs | None = None
    recorder: SnapshotRecorder | None = None


Opening = Callable[[], Opened]
"""Function that loads the configuration and makes the source; it runs in a thread."""
