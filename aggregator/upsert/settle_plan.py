"""Settle plan: the settle point that is to be reached next, and when. Pure.

new      every `settle_seconds`, the mark: as every server that gets queries has its ends.
again    a point whose mutations are made and that was not reached, at most a minute later. It stays
         the same one: a table whose mutations take longer than the pause would never reach one that
         moves on.
joined   the newest point, at most a minute later, for a server that gets queries and is not named
         by it, as it was away. With hours between settlings its view would show the state of hours
         ago, and a server that was away beyond the horizon would get no query for as long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from aggregator.upsert.claims import TickRow, settle_point
from aggregator.upsert.visibility import has_ends

AGAIN_SECONDS = 60.0
"""Longest pause before a point is settled that was not reached, or lacks a server."""


class SettlePlan(NamedTuple):
    """Settle point to reach.

    Args:
        point: tick of the settle point.
        time_ms: time of the tick.
        after: by name of a server, the newest settle point that names it.
        horizon: that is published; ends up to it may be gone.
        shown_since_s: begin of the oldest day that is seen at the horizon, in Unix seconds.
        is_begun: a settling for the point has begun before, and may have made its mutation: rows
            are counted first.
    """

    generation: int
    point: int
    time_ms: int
    after: Mapping[str, int]
    horizon: int = 0
    shown_since_s: int = 0
    is_begun: bool = False

    def can_count(self, server: str) -> bool:
        """Returns True for a server that has all ends behind the last point that names it."""
        return has_ends(self.after.get(server, 0), self.horizon)

    def first(self, servers: Iterable[str]) -> int:
        """Returns the tick after which ends are brought into the rows, for servers together."""
        return min((self.after.get(server, 0) for server in servers), default=0)


def settle_plan(
    points: Sequence[TickRow],
    claim: TickRow,
    servers: Iterable[str],
    *,
    settle_seconds: float,
    seconds_since_new: float = math.inf,
    seconds_since_last: float = math.inf,
    horizon: int = 0,
    shown_since_s: int = 0,
    unreached: TickRow | None = None,
) -> SettlePlan | None:
    """Returns the next settle point; None if none is due. Pure.

    Args:
        points: settle points, by tick.
        claim: of the mark: the newest tick that every server which gets queries has.
        servers: names of those servers; without any, nothing is due.
        settle_seconds: see the setting.
        seconds_since_new: since a mark was taken for a settle point; infinite if an operator wants
            one.
        seconds_since_last: since a settling ended, whatever became of it.
        horizon, shown_since_s: see SettlePlan.
        unreached: claim or settle point that the last settling has begun with.
    """
    wanted = set(servers)
    if not wanted or not claim.tick:
        return None
    known = wanted.union(*(each.servers for each in points))
    after = {server: settle_point(points, claim.tick, server) for server in sorted(known)}
    newest = points[-1] if points and points[-1].tick <= claim.tick else None
    reached = newest.tick if newest else 0

    def lacks(tick: int) -> bool:
        return any(after[server] < tick for server in wanted)

    is_again_due = seconds_since_last >= min(settle_seconds, AGAIN_SECONDS)
    if unreached is not None and reached < unreached.tick <= claim.tick:
        goal = unreached if is_again_due else None
        is_begun = True
    elif seconds_since_new >= settle_seconds and lacks(claim.tick):
        goal, is_begun = claim, claim.tick == reached
    else:
        goal = newest if is_again_due and lacks(reached) else None
        is_begun = True
    if goal is None:
        return None
    return SettlePlan(
        claim.generation, goal.tick, goal.time_ms, after, horizon, shown_since_s, is_begun
    )
