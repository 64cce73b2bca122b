"""Memory of alerts from one snapshot to the next: when they began and ended."""

from __future__ import annotations

from tui.facts.alert import Alert
from tui.facts.alert_rules import NO_LOOK, next_look
from tui.facts.snapshot import Snapshot


class AlertMemory:
    """Finisher of snapshots: makes the field `alerts` when all others are known."""

    def __init__(self) -> None:
        self._last = NO_LOOK

    def __call__(self, snapshot: Snapshot) -> dict[str, tuple[Alert, ...]]:
        """Returns the alerts of a snapshot; those that have ended stay for an hour."""
        self._last = next_look(self._last, snapshot, snapshot.acknowledgements, snapshot.taken_at)
        return {"alerts": self._last.alerts}
