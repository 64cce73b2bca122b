"""Publisher of the active plan in Redis, where the balancer and operators look for it.

Redis may be unreachable; carrying continues without it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from replicator.mirror.driver.planner import Planned
from replicator.orders.active_plan import ActivePlan
from replicator.orders.status_board import EXPIRE_SECONDS
from replicator.runtime.report_once import ReportOnce
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

AGAIN_SECONDS = EXPIRE_SECONDS / 3


class Board(Protocol):
    """Status board in Redis; blocks."""

    def show_plan(self, active: ActivePlan, /) -> object: ...


class ActivePlanPublisher:
    """Active plan of one region, kept on the status board.

    Args:
        make_board: called again until it succeeds, as the password file of Redis may be missing
            for a moment.
    """

    def __init__(self, make_board: Callable[[], Board]) -> None:
        self._make_board = make_board
        self._active: ActivePlan | None = None
        self._changed = asyncio.Event()

    def show(self, planned: Planned, slots: int) -> None:
        """Sets the plan that is carried from now on. Returns at once."""
        paused = tuple((route, some) for route, some in sorted(planned.paused.items()) if some)
        before = self._active
        is_same = before is not None and before.plan.version == planned.plan.version
        posted_at = before.posted_at if before and is_same else time.time()
        self._active = ActivePlan(planned.plan, slots, posted_at, planned.generations, paused)
        self._changed.set()

    async def keep(self) -> None:
        """Writes a changed plan at once, and again before it expires. Runs until cancelled."""
        board: Board | None = None
        reports = ReportOnce()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_SECONDS):
                    await self._changed.wait()
            self._changed.clear()
            if self._active is None:
                continue
            try:
                board = board or self._make_board()
                await run_in_thread(board.show_plan, self._active)
                reports.settle("plan")
            except Exception as error:
                if reports.is_news("plan"):
                    log.warning("event=plan-not-shown %s", error)
