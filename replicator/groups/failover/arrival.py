"""Wait of a switchover, until stopped groups find everything that they have read in the target."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import NamedTuple

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.groups.failover.fresh_plans import FreshPlans
from replicator.groups.planning.checks import named
from replicator.groups.planning.failover_plan import Check, Level
from replicator.groups.planning.knowledge import Knowledge, Request
from replicator.groups.planning.lag import Origin, goals, lag
from replicator.groups.planning.offset_planner import plan
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError

AGAIN_SECONDS = 1.0


class Awaited(NamedTuple):
    """Present wait of a switchover: its kind, how much is left, and the same in words."""

    what: str
    left: int
    text: str


class Arrival:
    """Wait of one switchover. Blocking."""

    def __init__(self, appliance: Appliance, plans: FreshPlans, request: Request) -> None:
        self._appliance = appliance
        self._plans = plans
        self._request = request

    def steps(
        self, wait_seconds: float, *, timeout_seconds: float
    ) -> Generator[Awaited, None, Check]:
        """Yields what is awaited, again and again; returns the resulting check.

        First the groups must have no members left in the source. Then everything that they need
        must be in the target. Only records written before this second wait are awaited, so active
        producers do not lengthen it.
        """
        source, target = self._request.source, self._request.target
        give_up_at = time.monotonic() + wait_seconds
        while True:
            stopped_ms = _now_ms()
            known = self._plans.knowledge(self._request, stopped_ms)
            if known.active_in_source is None:
                return _blocked(
                    f"not waited for: {source} does not answer which groups have members"
                )
            active = known.active_in_source & self._request.groups
            if not active:
                break
            yield Awaited(f"stopping in {source}", len(active), f"members: {named(active)}")
            if not _slept_before(give_up_at):
                text = f"after {wait_seconds:g} s still with members in {source}: {named(active)}"
                return _blocked(f"{text}; one that was killed counts for its session.timeout.ms")
        ends = self._ends(known, timeout_seconds)
        while True:
            now_ms = _now_ms()
            known = self._plans.knowledge(self._request, now_ms)
            # The groups' vectors are final only once the last commits are copied, so they are
            # planned anew each time.
            moves = plan(self._request, known, plan_id="", now_ms=now_ms).moves()
            wanted = goals(ends, (move for _, move in moves))
            found = lag(wanted, known, fresh_age_ms=now_ms - stopped_ms)
            yield Awaited(
                f"arriving in {target}", found.records + found.unknown, f"missing: {found}"
            )
            if found.is_zero:
                text = f"{target} has all that was written, and read, when the groups had stopped"
                return Check("arrival", Level.PASS, text)
            if not _slept_before(give_up_at):
                return _blocked(f"after {wait_seconds:g} s still missing in {target}: {found}")

    def _ends(self, known: Knowledge, timeout_seconds: float) -> dict[Origin, int]:
        """Returns the ends of the regional logs; a region that does not answer is left out."""
        partitions = [partition for partition, facts in known.partitions.items() if facts.there_log]
        ends: dict[Origin, int] = {}
        for route in self._appliance.routes_into(self._request.target):
            admin = Admin(
                ClusterName.regional(route.source),
                self._appliance.source_of(route),
                timeout_seconds,
            )
            try:
                found = admin.offsets(partitions, "latest")
            except AdminError:
                continue
            for partition in partitions:
                if partition in found:
                    ends[Origin(route.source, partition)] = found[partition]
        return ends


def _blocked(text: str) -> Check:
    return Check("arrival", Level.BLOCK, text)


def _slept_before(give_up_at: float) -> bool:
    """Returns False at once when the time is over; otherwise sleeps and returns True."""
    left_seconds = give_up_at - time.monotonic()
    if left_seconds <= 0:
        return False
    time.sleep(min(AGAIN_SECONDS, left_seconds))
    return True


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
