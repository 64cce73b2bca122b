"""A switchover waits: until groups that have stopped find all that they read in the target."""

from __future__ import annotations

import time
from collections.abc import Iterator

from replicator.config.topology import Appliance
from replicator.failover.fresh_plans import FreshPlans
from replicator.planning.knowledge import Knowledge, Request
from replicator.planning.lag import Lag, Origin, goals, lag
from replicator.planning.planner import plan
from replicator.topics.admin import Admin
from replicator.topics.admin_error import AdminError

AGAIN_SECONDS = 1.0


class Arrival:
    """One switchover's. Blocking."""

    def __init__(self, appliance: Appliance, plans: FreshPlans, request: Request) -> None:
        self._appliance = appliance
        self._plans = plans
        self._request = request

    def lags(self, wait_seconds: float, *, timeout_seconds: float) -> Iterator[Lag]:
        """How much is missing, again and again; the last one is zero, or the time is over.

        Nothing at all while the source does not say that its groups have stopped: the plan's checks
        tell that. What is asked for was written before the waiting began, so producers that go on
        do not lengthen it.
        """
        give_up_at = time.monotonic() + wait_seconds
        stopped_ms = _now_ms()
        known = self._plans.knowledge(self._request, stopped_ms)
        active = known.active_in_source
        if active is None or active & self._request.groups:
            return
        ends = self._ends(known, timeout_seconds)
        while True:
            now_ms = _now_ms()
            known = self._plans.knowledge(self._request, now_ms)
            # Its vectors are not final before the last commits have been copied, hence every time.
            moves = plan(self._request, known, plan_id="", now_ms=now_ms).moves()
            wanted = goals(ends, (move for _, move in moves))
            found = lag(wanted, known, fresh_age_ms=now_ms - stopped_ms)
            yield found
            left_seconds = give_up_at - time.monotonic()
            if found.is_zero or left_seconds <= 0:
                return
            time.sleep(min(AGAIN_SECONDS, left_seconds))

    def _ends(self, known: Knowledge, timeout_seconds: float) -> dict[Origin, int]:
        """Where the regional logs end; of a region that does not answer, nothing."""
        places = [place for place, facts in known.partitions.items() if facts.there_log]
        ends: dict[Origin, int] = {}
        for route in self._appliance.routes_into(self._request.target):
            admin = Admin(
                f"{route.source} regional", self._appliance.source_of(route), timeout_seconds
            )
            try:
                found = admin.offsets(places, "latest")
            except AdminError:
                continue
            for place in places:
                if place in found:
                    ends[Origin(route.source, place)] = found[place]
        return ends


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
