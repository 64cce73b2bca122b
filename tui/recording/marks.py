"""Marks of a recording: frames at which something got worse, for "next alert" in a replay."""

from __future__ import annotations

from tui.facts.alert import AlertState
from tui.facts.health import ORDER, Health
from tui.facts.snapshot import Snapshot


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
