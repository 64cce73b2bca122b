"""Source of snapshots, and the parts that a console is opened with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tui.pages.page import Focus

if TYPE_CHECKING:
    from tui.console.steered_jobs import SteeredJobs
    from tui.facts.snapshot import Snapshot
    from tui.recording.recorder import Recorder
    from tui.recording.replay import Replay


class SnapshotSource(Protocol):
    """Source of snapshots. All methods return at once and may be called from any thread."""

    @property
    def problem(self) -> str:
        """Reason why no newer snapshot can be made; "" when it can."""

    def start(self, on_snapshot: Callable[[Snapshot], None]) -> None:
        """Begins to call `on_snapshot`, from a thread of the source, for each new snapshot."""

    def ask_now(self) -> None:
        """Asks all servers now, whatever their cadences."""

    def set_focus(self, focus: Focus) -> None:
        """Says what is on screen, so that it is asked about more often."""

    def close(self) -> None:
        """Ends; `on_snapshot` is not called any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Parts of a console that take time to make: they are made while the first frame is shown.

    Args:
        jobs: None in a replay.
        recorder: None when nothing is recorded.
        replay: the source, where it plays a recording.
    """

    source: SnapshotSource
    jobs: SteeredJobs | None = None
    recorder: Recorder | None = None
    replay: Replay | None = None


Opening = Callable[[], Opened]
"""Function that loads the configuration and makes the source; it runs in a thread."""
