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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from aggregator.store.identifier import quoted
from aggregator.store.recognition import is_complete
from aggregator.store.replica import Connected
from aggregator.store.shard_store import NotStored, ShardStore
from aggregator.upsert.bootstrap import BIRTHS
from aggregator.upsert.claims import TickRow, TickTable, What
from aggregator.upsert.expired_days import drop_expired_days, drop_partitions, refusal
from aggregator.upsert.table_names import rows_table, ticks_table, updates_table
from aggregator.upsert.upsert_schema import TICKS_PER_PARTITION

WAIT_SECONDS = 600.0
"""Time between the horizon and the drop. A query has to begin within it once it has its mark."""
LOOK_SECONDS = 30.0
"""Pause between two looks at the horizon."""
STEP_MS = 3_600_000
"""Time after which a horizon is published that lets no partition of ends go."""
PRUNED_MIN = 50_000
"""Rows of `t__ticks` that are deleted together: a deletion writes the parts of the table anew."""
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


def limit_ms(claim_ms: int, history_seconds: float) -> int:
    """Returns the latest time, in Unix milliseconds, that the horizon may have. Pure.

    Args:
        claim_ms: time of the newest claimed tick. It stands still while the clock of the ticks
            does, which never goes back.
    """
    return max(0, claim_ms - round(history_seconds * 1000))


def next_horizon(before: TickRow | None, point: TickRow | None) -> TickRow | None:
    """Returns the horizon that is to hold: a later one only if it lets something go. Pure.

    Args:
        before: published; None: there is none.
        point: newest settle point that is not later than limit_ms; None: there is none.
    """
    if point is None or (before is not None and point.tick <= before.tick):
        return before
    found = TickRow(point.generation, point.tick, What.HORIZON, point.time_ms)
    if before is None or droppable_end(found.tick) > droppable_end(before.tick):
        return found
    return found if found.time_ms - before.time_ms >= STEP_MS else before


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
        is_gone: what lies before that was dropped, but for what is refused.
        refused: what servers have not dropped yet, with their answers. It is tried again with each
            look, and holds up nothing else.
    """

    store: ShardStore
    table: str
    history_seconds: float
    retention_hours: float
    wait_seconds: float = WAIT_SECONDS
    pruned_min: int = PRUNED_MIN
    published: TickRow | None = field(init=False, default=None)
    is_gone: bool = field(init=False, default=False)
    refused: Mapping[str, str] = field(init=False, default_factory=lambda: MappingProxyType({}))
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
        if self.published is not None and claim.tick < self.published.tick:
            # The tables were made anew: what was published of them is no more.
            self.published, self.refused = None, MappingProxyType({})
        if self.published is not None and not self.is_gone:
            if now_seconds - self._published_at >= self.wait_seconds:
                self.is_gone = True
                self._let_go(ticks, claim, self.published)
            return
        latest_ms = limit_ms(claim.time_ms, self.history_seconds)
        point = ticks.newest(What.SETTLED, time_ms=latest_ms)
        found = next_horizon(ticks.newest(What.HORIZON), point)
        if found is None or found == self.published:
            if self.published is not None and self.refused:
                self._let_go(ticks, claim, self.published)
            return
        # A process before this one may have ended before its quorum answered.
        ticks.publish(found, is_repeat=True)
        self.published, self._published_at, self.is_gone = found, now_seconds, False

    def _let_go(self, ticks: TickTable, claim: TickRow, horizon: TickRow) -> None:
        """Lets go of what no query at the horizon, or behind it, reads."""
        refused: dict[str, str] = {}
        for name, step in (
            (updates_table(self.table), partial(self._drop_ends, horizon.tick)),
            (rows_table(self.table), partial(self._drop_days, horizon.time_ms)),
            (ticks_table(self.table), partial(self._prune, ticks, claim, horizon.tick)),
        ):
            try:
                refused |= {f"{name} {number}": text for number, text in step().items()}
            except NotStored as error:
                refused[name] = f"{name} keeps what lies before the horizon: " + refusal(
                    error.problem
                )
        self.refused = MappingProxyType(refused)

    def _drop_ends(self, horizon: int) -> Mapping[int, str]:
        def are_over(partitions: Iterable[int]) -> list[int]:
            return sorted(each for each in partitions if each < droppable_end(horizon))

        return drop_partitions(self.store, updates_table(self.table), are_over).refused

    def _drop_days(self, time_ms: int) -> Mapping[int, str]:
        return drop_expired_days(
            self.store,
            self.table,
            horizon_time_ms=time_ms,
            retention_hours=self.retention_hours,
        ).refused

    # -- rows of t__ticks

    def _prune(self, ticks: TickTable, claim: TickRow, horizon: int) -> Mapping[int, str]:
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
        return {}
