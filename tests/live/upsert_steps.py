"""Steps of an upsert table at which `sluice aggregate` waits until its test lets it go on.

A test holds a step, by a file in a folder that it shares with the daemon. The daemon comes to the
step, says so by a second file, and waits there, alive and with all of its connections, until the
first file is gone: whatever the test does meanwhile happens at this step, not by luck.

Rows are inserted by Spark's Python workers. A test holds those, and the insert of ends, at the
servers: `ReplicatedDatabase.no_fetches` keeps the quorum of an insert open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

from aggregator.upsert import key_coordinator
from aggregator.upsert.claims import TickTable, What
from aggregator.upsert.keeper import KeeperRun
from aggregator.upsert.settling import Settler
from aggregator.upsert.tick_store import TickStore
from deploy.lab.wait import until
from replicator.runtime.run_in_thread import run_in_thread
from tui.program import main

PATIENCE_SECONDS = 120.0
"""Longest wait of a test for a step, and of a daemon at one."""


class Step(StrEnum):
    """Steps of a tick, then of a settling, in their order."""

    CUT = "cut"
    """The tick is committed, and no task knows of it."""
    FOLD = "fold"
    """Rows are stored, and the state has them; the ends are not known."""
    ENDS = "ends"
    """The ends are known, and none is sent."""
    CLAIM = "claim"
    """The ends are stored; the tick is not claimed."""
    COMMIT = "commit"
    """The tick is claimed, and Spark has not committed its batch."""
    MUTATED = "mutated"
    """The servers have the mutation of a settling; no open row was counted."""
    COUNTED = "counted"
    """No row is open on some servers, and the settle point is not published."""


class Steps:
    """Steps that a test holds.

    Args:
        folder: shared with the daemon.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    @property
    def program(self) -> str:
        """Program of a daemon that comes to these steps."""
        return f"from tests.live.upsert_steps import run; run({str(self.folder)!r})"

    @contextmanager
    def held(self, step: Step, begin: Callable[[], object]) -> Iterator[None]:
        """Holds a step; inside of the `with` block the daemon waits there.

        Args:
            begin: makes the daemon come to the step.
        """
        held = self.folder / step
        self._reached(step).unlink(missing_ok=True)
        held.touch()
        try:
            begin()
            assert until(self._reached(step).exists, PATIENCE_SECONDS), f"nobody came to {step}"
            yield
        finally:
            held.unlink()

    def reach(self, step: Step) -> None:
        """Waits at a step while it is held, and tells that this process is there."""
        held = self.folder / step
        if held.exists():
            self._reached(step).touch()
            until(lambda: not held.exists(), PATIENCE_SECONDS)

    def _reached(self, step: Step) -> Path:
        return self.folder / f"{step}-reached"


def run(folder: str) -> None:
    """Runs `sluice` with the arguments of this process, up to the steps that a test holds."""
    watch(Steps(Path(folder)))
    main()


def watch(steps: Steps) -> None:
    """Makes the work of this process come to its steps."""
    commit, publish, tick_result = TickStore.commit, TickTable.publish, key_coordinator.tick_result

    async def committed(*arguments: Any, **named: Any) -> None:
        await commit(*arguments, **named)
        await run_in_thread(steps.reach, Step.CUT)

    def published(self: TickTable, row: Any, **named: Any) -> None:
        if row.what is What.CLAIM:
            steps.reach(Step.CLAIM)
        publish(self, row, **named)

    def folded(*arguments: Any) -> Any:
        steps.reach(Step.FOLD)
        return tick_result(*arguments)

    TickStore.commit = committed  # type: ignore[method-assign]
    TickTable.publish = published  # type: ignore[method-assign]
    key_coordinator.tick_result = folded
    _around(TickTable, "insert_ends", steps, before=Step.ENDS)
    _around(KeeperRun, "folded", steps, after=Step.COMMIT)
    _around(Settler, "_mutate", steps, after=Step.MUTATED)
    _around(Settler, "_publish", steps, before=Step.COUNTED)


def _around(
    owner: type, name: str, steps: Steps, *, before: Step | None = None, after: Step | None = None
) -> None:
    """Makes a method come to a step before its begin, or after its end."""
    act = getattr(owner, name)

    def watched(*arguments: Any, **named: Any) -> Any:
        if before:
            steps.reach(before)
        found = act(*arguments, **named)
        if after:
            steps.reach(after)
        return found

    setattr(owner, name, watched)
