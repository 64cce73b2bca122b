"""Recording from which the pictures of the docs are drawn; `python -m` of this module makes it.

It is made of the snapshots of the console's tests, each moved to a time of its own.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from deploy.pictures import RECORDING
from tests.tui.console.snapshots import NOW, healthy, lagging, region_gone
from tests.tui.recording.recordings import recorded
from tui.facts.snapshot import Snapshot

SNAPSHOTS = TypeAdapter(Snapshot)
NEAR_SECONDS = 10 * 86_400
STEP_SECONDS = 300.0


def moved(snapshot: Snapshot, seconds: float) -> Snapshot:
    """Returns the snapshot with all its times moved."""
    return SNAPSHOTS.validate_python(_moved(SNAPSHOTS.dump_python(snapshot), seconds))


def _moved(value: Any, seconds: float) -> Any:
    match value:
        case dict():
            return {key: _moved(each, seconds) for key, each in value.items()}
        case list() | tuple():
            return [_moved(each, seconds) for each in value]
        case float() if abs(value - NOW) < NEAR_SECONDS:
            return value + seconds
        case int() if abs(value - NOW * 1000) < NEAR_SECONDS * 1000:
            return value + round(seconds * 1000)
        case _:
            return value


if __name__ == "__main__":
    RECORDING.unlink(missing_ok=True)
    states = (healthy(), lagging(), region_gone())
    recorded(
        RECORDING,
        # Texts of the last state name times of day, so it is the one that is not moved.
        [moved(each, (number - 2) * STEP_SECONDS) for number, each in enumerate(states)],
    )
    RECORDING.chmod(0o644)
