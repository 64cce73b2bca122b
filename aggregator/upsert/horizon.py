"""Horizon of an upsert table: the oldest tick that may be read. What lies before it goes.

1  find     the newest settle point whose time is `history_seconds` before that of the newest claim.
2  publish  it with quorum, once it is so far ahead of the one before that something can go.
3  wait     until no query begins any more that was given an older mark.
4  drop     partitions of ends that are wholly at or before it, and days of rows that are over.
5  prune    claims, settle points and horizons that nobody asks for any more.

A settle point says of a quorum of servers that all ends up to it are in their rows, and these stay
so: parts of one name are the same on all servers. A server that has no settle point at or behind
the horizon lacks ends that it would need, and gets no query; settling compares its rows with those
of another one (settling.py).

Each step may be repeated, by several processes, and each may end after any. A process drops only up
to a horizon whose quorum has answered to itself (decision 0115).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from aggregator.store.identifier import quoted
from aggregator.store.recognition import is_complete
from aggregator.store.replica import Connected
from aggregator.store.shard_store import NotStored, ShardStore
from aggregator.upsert.bootstrap import BIRTHS
from aggregator.upsert.claims import TickRow, TickTable, What
from aggregator.upsert.expired_days import drop_expired_days
from aggregator.upsert.table_names import ticks_table, updates_table
from aggregator.upsert.upsert_schema import TICKS_PER_PARTITION

WAIT_SECONDS = 600.0
"""Time between the horizon and the drop. A query has to begin within it once it has its mark."""
LOOK_SECONDS = 30.0
"""Pause between two looks at the horizon."""
STEP_MS = 3_600_000
"""Time after which a horizon is published that lets no partition of ends go."""
PRUNED_MIN = 50_000
"""Rows of `t__ticks` that are deleted together: a deletion writes the parts of the table anew."""
PARTITIONS = """
SELECT DISTINCT partition FROM system.parts
WHERE database = %(database)s AND table = %(table)s AND active
"""
NEWEST_POINTS = """
SELECT server, max(tick) FROM {table} ARRAY JOIN servers AS server
WHERE what = 'settled' AND generation = {generation} GROUP BY server
"""


def droppable_end(horizon: int) -> int:
    """Returns the first partition of the table of ends that is kept. Pure.

    Args:
        horizon: ends up to this tick may go.
    """
    return (horizon + 1) // TICKS_PER_PARTITION


def is_worth(before: TickRow | None, found: TickRow) -> bool:
    """Returns True for a horizon that lets something go. Pure.

    Args:
        before: published; None: there is none.
        found: the newest one.
    """
    if before is None:
        return True
    if found.tick <= before.tick:
        return False
    lets_go = droppable_end(found.tick) > droppable_end(before.tick)
    return lets_go or found.time_ms - before.time_ms >= STEP_MS


class Pruning(NamedTuple):
    """Rows of `t__ticks` before the horizon that nobody asks for any more. Pure.

    A claim is kept as long as rows of its age are: the verifier compares these with the ranges of
    their claims.

    Args:
        claims: claims of earlier ticks go.
        births: first ticks with so many lanes. Without them, rows of a topic that was created anew
            would be taken for rows of the one before it.
        points: newest settle point that names each server: its view shows that one.
    """

    generation: int
    horizon: int
    claims: int
    births: frozenset[int]
    points: frozenset[int]

    @property
    def condition(self) -> str:
        """Condition on the rows, the same on all servers."""
        births = ", ".join(map(str, sorted({0, *self.births})))
        points = ", ".join(map(str, sorted({0, *self.points})))
        return (
            f"generation = {self.generation} AND tick < {self.horizon} AND (what = 'horizon' "
            f"OR what = 'settled' AND tick NOT IN ({points}) "
            f"OR what = 'claim' AND tick < {self.claims} AND tick NOT IN ({births}))"
        )


@dataclass(eq=False)
class Horizon:
    """Horizon of one table. All calls block.

    Args:
        history_seconds: see the setting.
        retention_hours: see the setting.
        wait_seconds: see WAIT_SECONDS.
        pruned_min: see PRUNED_MIN.
        published: that this process has published; None before the first.
        is_gone: what lies before that was dropped, as far as the servers did it.
    """

    store: ShardStore
    table: str
    history_seconds: float
    retention_hours: float
    wait_seconds: float = WAIT_SECONDS
    pruned_min: int = PRUNED_MIN
    published: TickRow | None = field(init=False, default=None)
    is_gone: bool = field(init=False, default=False)
    _published_at: float = field(init=False, default=0.0)
    _look_at: float = field(init=False, default=0.0)

    def follow(self, ticks: TickTable, claim: TickRow, now_seconds: float) -> None:
        """Publishes the horizon that follows from the newest claim, or lets go of what lies before
        the one that was published.

        Args:
            now_seconds: on a monotonic clock.

        Raises NotStored: the next call tries again.
        """
        if now_seconds < self._look_at:
            return
        self._look_at = now_seconds + LOOK_SECONDS
        if self.published is not None and not self.is_gone:
            if now_seconds - self._published_at >= self.wait_seconds:
                # What a server refuses is tried again with the next horizon.
                self.is_gone = True
                self._let_go(ticks, claim, self.published)
            return
        found = self._found(ticks, claim)
        if found is None or found == self.published:
            return
        # A process before this one may have ended before its quorum answered.
        ticks.publish(found, is_repeat=True)
        self.published, self._published_at, self.is_gone = found, now_seconds, False

    def _found(self, ticks: TickTable, claim: TickRow) -> TickRow | None:
        """Returns the horizon that is to be published: a later one if it is worth it."""
        before = ticks.newest(What.HORIZON)
        limit_ms = claim.time_ms - round(self.history_seconds * 1000)
        point = ticks.newest(What.SETTLED, time_ms=max(0, limit_ms))
        if point is not None:
            found = TickRow(point.generation, point.tick, What.HORIZON, point.time_ms)
            if is_worth(before, found):
                return found
        return before

    def _let_go(self, ticks: TickTable, claim: TickRow, horizon: TickRow) -> None:
        """Lets go of what no query at the horizon, or behind it, reads.

        Raises NotStored once all was tried.
        """
        errors: list[NotStored] = []
        for step in (
            partial(self._drop_ends, horizon.tick),
            partial(self._drop_days, horizon.time_ms),
            partial(self._prune, ticks, claim, horizon.tick),
        ):
            try:
                step()
            except NotStored as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _drop_days(self, time_ms: int) -> None:
        drop_expired_days(
            self.store,
            self.table,
            horizon_time_ms=time_ms,
            retention_hours=self.retention_hours,
        )

    # -- ends

    def _drop_ends(self, horizon: int) -> None:
        database, name = self.store.database, updates_table(self.table)

        def drop(it: Connected) -> None:
            found = it.client.execute(PARTITIONS, {"database": database, "table": name})
            for number in sorted(int(partition) for (partition,) in found):
                if number < droppable_end(horizon):
                    table = quoted(database, name)
                    it.client.execute(f"ALTER TABLE {table} DROP PARTITION {number}")

        self.store.answer_of_leader(name, drop)

    # -- rows of t__ticks

    def _prune(self, ticks: TickTable, claim: TickRow, horizon: int) -> None:
        """Deletes rows of `t__ticks`, if there are many.

        18.16 leaves the last part of a quorum out of the deletion until the next insert: rows that
        stay for a while do no harm here.
        """
        oldest_ms = claim.time_ms - round(self.retention_hours * 3_600_000)
        old = ticks.newest(What.CLAIM, time_ms=max(0, oldest_ms))
        database, name = self.store.database, ticks_table(self.table)
        table = quoted(database, name)

        def ask(it: Connected) -> str | None:
            # A server that lacks claims would take a later one for the first with its lanes.
            if not is_complete(it.client, database, name):
                return None
            births = it.client.execute(BIRTHS.format(table=table))
            points = it.client.execute(
                NEWEST_POINTS.format(table=table, generation=ticks.generation)
            )
            pruning = Pruning(
                ticks.generation,
                horizon,
                old.tick if old else 0,
                frozenset(tick for _, tick in births),
                frozenset(tick for _, tick in points),
            )
            [(rows,)] = it.client.execute(f"SELECT count() FROM {table} WHERE {pruning.condition}")
            return pruning.condition if rows >= self.pruned_min else ""

        if condition := ticks.first_answer(ask):
            statement = f"ALTER TABLE {table} DELETE WHERE {condition}"
            ticks.first_answer(lambda it: it.client.execute(statement))
