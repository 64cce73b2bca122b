"""State of the console: opened source, shown snapshot, view, and the request for its page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.console.navigation import Navigation
from tui.console.page_builder import PageBuilder, PageRequest
from tui.console.registry import first_page
from tui.console.settings import ConsoleSettings
from tui.console.source import Opened
from tui.pages.page import NO_FOCUS, Focus

if TYPE_CHECKING:
    from tui.console.steered_jobs import SteeredJobs
    from tui.facts.snapshot import Snapshot
    from tui.recording.replay import Replay

REDRAW_SECONDS = 5.0
"""Age up to which a page is not made anew without a new snapshot."""


class ConsoleState:
    """State that the program keeps, its screen shows and commands change.

    For the thread of the screen, except for `came`.

    Args:
        clock: Unix seconds.
        builder: makes the page of a request.
    """

    def __init__(
        self,
        settings: ConsoleSettings,
        clock: Callable[[], float],
        builder: PageBuilder,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.navigation = Navigation(first_page, "overview")
        self.opened: Opened | None = None
        self.snapshot: Snapshot | None = None
        self.frozen_at: float | None = None
        self.requests = 0
        self._builder = builder
        self._latest: Snapshot | None = None
        self._requested_at = 0.0
        self._focus = NO_FOCUS

    # --- Source.

    def start(self, opened: Opened, on_snapshot: Callable[[Snapshot], None]) -> None:
        """Starts the source; a thread of it calls `on_snapshot`."""
        self.opened = opened
        opened.source.start(on_snapshot)
        opened.source.set_focus(self._focus)

    def close(self) -> None:
        """Ends the source and the recording."""
        if self.opened is not None:
            self.opened.source.close()
            if self.opened.recorder is not None:
                self.opened.recorder.close()

    @property
    def jobs(self) -> SteeredJobs | None:
        """Jobs of this console; None when it has none, or before it is opened."""
        return None if self.opened is None else self.opened.jobs

    @property
    def replay(self) -> Replay | None:
        """Replay that is played; None when servers are asked, or before it is opened."""
        return None if self.opened is None else self.opened.replay

    @property
    def problem(self) -> str:
        """Reason why no newer snapshot can be made; "" when it can."""
        return "" if self.opened is None else self.opened.source.problem

    # --- Snapshots.

    def came(self, snapshot: Snapshot) -> None:
        """Records a snapshot and keeps it as the newest; any thread may call it."""
        if self.opened is not None and self.opened.recorder is not None:
            self.opened.recorder.record(snapshot)
        self._latest = snapshot

    def take_newest(self) -> bool:
        """Makes the newest snapshot the shown one. Returns False if it is, or if it is frozen."""
        if self.frozen_at is not None or self._latest is self.snapshot:
            return False
        self.snapshot = self._latest
        return True

    def set_frozen(self, is_frozen: bool) -> None:
        """Keeps the shown snapshot, or no longer."""
        self.frozen_at = self.now() if is_frozen else None

    def now(self) -> float:
        """Returns the time for which pages are made, in Unix seconds."""
        return self.clock_shown() if self.frozen_at is None else self.frozen_at

    def clock_shown(self) -> float:
        """Returns the time of the top line in Unix seconds: in a replay, that of its snapshot."""
        if self.settings.is_replay and self.snapshot is not None:
            return self.snapshot.taken_at
        return self.clock()

    # --- Pages.

    def request_page(self) -> bool:
        """Has the current page made from the shown snapshot. Returns False while there is none."""
        if self.snapshot is None:
            return False
        self.requests += 1
        self._requested_at = self.now()
        view = self.navigation.current
        self._builder.request(PageRequest(self.requests, view, self.snapshot, self._requested_at))
        self._set_focus(view.page.focus())
        return True

    @property
    def is_page_old(self) -> bool:
        """True when the page shows ages that are no longer those of now."""
        seconds = getattr(self.navigation.current.page, "redraw_seconds", REDRAW_SECONDS)
        return self.frozen_at is None and self.now() - self._requested_at >= seconds

    def _set_focus(self, focus: Focus) -> None:
        if focus != self._focus:
            self._focus = focus
            if self.opened is not None:
                self.opened.source.set_focus(focus)
