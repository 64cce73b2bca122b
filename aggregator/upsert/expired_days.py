"""Expired days: days of rows that no permitted mark shows any more, and that servers drop.

A mark does not show rows of days before its own (shown_since_s in visibility.py), and permitted
marks begin with the horizon. So a day before that of the horizon is dropped as a partition of
`t__rows`, on one server after the other, and all give the same answers meanwhile (decision 0114).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from aggregator.store.identifier import quoted
from aggregator.store.replica import Connected
from aggregator.store.shard_store import NotStored, ShardStore
from aggregator.upsert.table_names import rows_table
from aggregator.upsert.visibility import day_of, shown_since_s

PARTITIONS = """
SELECT DISTINCT partition_id FROM system.parts
WHERE database = %(database)s AND table = %(table)s AND active
"""


def expired_days(days: Iterable[int], horizon_time_ms: int, retention_hours: float) -> list[int]:
    """Returns the days that may be dropped, in their order. Pure.

    Args:
        days: that a table has, as YYYYMMDD.
        horizon_time_ms: of the tick of the published horizon (Tick.time_ms).
    """
    first_kept = day_of(shown_since_s(horizon_time_ms, retention_hours))
    return sorted({day for day in days if day < first_kept})


def drop_expired_days(
    store: ShardStore, table: str, *, horizon_time_ms: int, retention_hours: float
) -> tuple[int, ...]:
    """Drops the expired days of an upsert table on all servers; returns them. Blocking.

    Replicas drop what their leader drops, one after the other. A day that is there again, as an
    insert came late, is dropped by the next call; dropping it twice does nothing.

    Args:
        table: name of the upsert table.
        horizon_time_ms: of the tick of the published horizon (Tick.time_ms).

    Raises NotStored if the leader does not answer, or refuses a day: one that is too large holds up
    no other.
    """
    of = {"database": store.database, "table": rows_table(table)}
    name = quoted(store.database, rows_table(table))

    def found(it: Connected) -> list[int]:
        days = [int(day) for (day,) in it.client.execute(PARTITIONS, of)]
        return expired_days(days, horizon_time_ms, retention_hours)

    def drop(it: Connected, day: int) -> None:
        it.client.execute(f"ALTER TABLE {name} DROP PARTITION {day}")

    dropped: list[int] = []
    errors: list[NotStored] = []
    for day in store.answer_of_leader(rows_table(table), found):
        try:
            store.answer_of_leader(rows_table(table), partial(drop, day=day))
        except NotStored as error:
            errors.append(error)
        else:
            dropped.append(day)
    if errors:
        raise errors[0]
    return tuple(dropped)
