"""Live source of snapshots: asks the servers of an appliance until it is closed."""

from __future__ import annotations

from collections.abc import Callable

from replicator.config.topology import Appliance
from tui.facts.snapshot import Snapshot
from tui.facts.watch.inventory import Inventory, whole_inventory
from tui.facts.watch.snapshot_thread import SnapshotThread
from tui.facts.watch.spotlight import FocusLike, Spotlight
from tui.facts.watch.watcher import Watcher


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
        self._snapshots: SnapshotThread | None = None

    @property
    def problem(self) -> str:
        """Reason why the last snapshot could not be made; "" when it was."""
        return "" if self._snapshots is None else self._snapshots.problem

    def start(self, on_snapshot: Callable[[Snapshot], None]) -> None:
        """Begins to ask, and to call `on_snapshot` from a thread of the source."""
        self._snapshots = SnapshotThread(
            self._watcher,
            self._assembly.snapshot,
            on_snapshot,
            on_problem=self._on_problem,
        )
        self._watcher.start()
        self._snapshots.start()

    def ask_now(self) -> None:
        """Asks all servers now, whatever the cadences."""
        self._watcher.ask_now()

    def set_focus(self, focus: FocusLike) -> None:
        """Asks more often about what is on screen."""
        self._watcher.set_focus(focus)
        if self._snapshots is not None:
            self._snapshots.make_now()

    def close(self) -> None:
        """Ends. Questions that are open end by themselves, or with the process."""
        if self._snapshots is not None:
            self._snapshots.close()
        self._watcher.close()
