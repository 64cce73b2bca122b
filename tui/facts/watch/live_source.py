"""Live source of snapshots: asks the servers of an appliance until it is closed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from replicator.config.topology import Appliance
from tui.facts.snapshot import Snapshot
from tui.facts.watch.inventory import Inventory, whole_inventory
from tui.facts.watch.question import Answers
from tui.facts.watch.spotlight import FocusLike, Spotlight
from tui.facts.watch.watcher import Watcher

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 1.0
"""Time between two snapshots, at least."""
BUSY_PART = 0.04
"""Part of the time of a core that making snapshots may take."""
QUIET_SECONDS = 5.0
"""Time after which a snapshot is made without news: ages and rates go on."""


class SnapshotThread:
    """Thread that makes snapshots of what a watcher has found.

    Args:
        make: makes a snapshot of the answers at a time in Unix seconds.
        tell: receives each snapshot, in this thread; an error in it ends nothing.
        interval_seconds: least time between two snapshots.
        on_problem: receives `problem`, in this thread, each time it changes.
    """

    def __init__(
        self,
        watcher: Watcher,
        make: Callable[[Answers, float], Snapshot],
        tell: Callable[[Snapshot], object],
        interval_seconds: float = INTERVAL_SECONDS,
        on_problem: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._watcher, self._make, self._tell = watcher, make, tell
        self._interval_seconds = interval_seconds
        self._on_problem = on_problem
        self._wake = threading.Event()
        self._is_closed = False
        self.problem = ""
        """Why the last snapshot could not be made; "" when it was."""

    def start(self) -> None:
        """Begins to make snapshots; the first one is made of whatever is known."""
        threading.Thread(target=self._run, name="snapshots", daemon=True).start()

    def make_now(self) -> None:
        """Makes the next snapshot without waiting for the interval to pass, or for news."""
        self._wake.set()
        self._watcher.tell_news()

    def close(self) -> None:
        """Ends the thread; returns at once. The watcher is closed by whoever made it."""
        self._is_closed = True
        self._wake.set()
        self._watcher.tell_news()

    def _run(self) -> None:
        known = 0
        while not (self._is_closed or self._watcher.is_closed):
            began = time.thread_time()
            self._round()
            taken = time.thread_time() - began
            # After a costly snapshot the next one waits longer.
            self._wake.wait(max(self._interval_seconds, taken / BUSY_PART))
            self._wake.clear()
            known = self._watcher.await_news(known, QUIET_SECONDS)

    def _round(self) -> None:
        try:
            self._tell(self._make(self._watcher.answers(), time.time()))
        except Exception as error:
            logger.debug("no snapshot was made", exc_info=True)
            self._set_problem(f"{type(error).__name__}: {error}")
        else:
            self._set_problem("")

    def _set_problem(self, text: str) -> None:
        before, self.problem = self.problem, text
        if text != before:
            self._on_problem(text)


class LiveSource:
    """Live source of one console or recorder. All methods return at once.

    Args:
        timeout_seconds: of every client.
        inventory: makes what is asked; for tests.
        on_problem: receives why no snapshot can be made, and "" once one can be made again.
    """

    def __init__(
        self,
        appliance: Appliance,
        timeout_seconds: float,
        inventory: Callable[[Appliance, float, Spotlight], Inventory] = whole_inventory,
        on_problem: Callable[[str], object] = lambda _: None,
    ) -> None:
        spotlight = Spotlight()
        found = inventory(appliance, timeout_seconds, spotlight)
        self._assembly = found.assembly
        self._watcher = Watcher(found.questions, timeout_seconds, spotlight)
        self._on_problem = on_problem
        self._thread: SnapshotThread | None = None

    @property
    def problem(self) -> str:
        """Reason why the last snapshot could not be made; "" when it was."""
        return "" if self._thread is None else self._thread.problem

    def start(self, on_snapshot: Callable[[Snapshot], None]) -> None:
        """Begins to ask, and to call `on_snapshot` from a thread of the source."""
        self._thread = SnapshotThread(
            self._watcher,
            self._assembly.snapshot,
            on_snapshot,
            on_problem=self._on_problem,
        )
        self._watcher.start()
        self._thread.start()

    def ask_now(self) -> None:
        """Asks all servers now, whatever the cadences."""
        self._watcher.ask_now()

    def set_focus(self, focus: FocusLike) -> None:
        """Asks more often about what is on screen."""
        self._watcher.set_focus(focus)
        if self._thread is not None:
            self._thread.make_now()

    def close(self) -> None:
        """Ends. Questions that are open end by themselves, or with the process."""
        if self._thread is not None:
            self._thread.close()
        self._watcher.close()
