"""Publishes the active plan where the balancer and operators look for it.

Redis may be unreachable; carrying continues without it.
"""

from __future__ import annotations

import asyncio
import logging
import time

from replicator.config.topology import Appliance
from replicator.mirror.driver.planner import Planned
from replicator.orders.active_plan import ActivePlan
from replicator.orders.status_board import EXPIRE_SECONDS, StatusBoard
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

AGAIN_SECONDS = EXPIRE_SECONDS / 3


class ActivePlanPublisher:
    """Active plan of one region, kept on the status board in Redis."""

    def __init__(self, appliance: Appliance, region: str) -> None:
        self._appliance, self._region = appliance, region
        self._shown: ActivePlan | None = None
        self._changed = asyncio.Event()

    def show(self, planned: Planned, slots: int) -> None:
        """Sets the plan that is carried from now on. Returns at once."""
        paused = tuple((route, some) for route, some in sorted(planned.paused.items()) if some)
        before = self._shown
        is_same = before is not None and before.plan.version == planned.plan.version
        posted_at = before.posted_at if before and is_same else time.time()
        self._shown = ActivePlan(planned.plan, slots, posted_at, planned.generations, paused)
        self._changed.set()

    async def keep(self) -> None:
        """Writes a changed plan at once, and again before it expires. Runs until cancelled."""
        board: StatusBoard | None = None
        is_told = False
        while True:
            try:
                async with asyncio.timeout(AGAIN_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            if self._shown is None:
                continue
            try:
                # Made here and not before: the password file may be missing for a moment.
                url = self._appliance.region(self._region).redis_url()
                board = board or StatusBoard(url, self._region)
                await run_in_thread(board.show_plan, self._shown)
                is_told = False
            except Exception as error:
                if not is_told:
                    log.warning("event=plan-not-shown %s", error)
                is_told = True
