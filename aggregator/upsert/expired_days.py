"""Expired days: days of rows that no permitted mark shows any more, and that servers drop.

A mark does not show rows of days before its own (shown_since_s in visibility.py), and permitted
marks begin with the horizon. So a day before that of the horizon is dropped as a partition of
`t__rows`, on one server after the other, while all give the same answers (decision 0114).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto

from aggregator.store.identifier import quoted
from aggregator.store.replica import Connected
from aggregator.store.shard_store import NotStored, ShardStore
from aggregator.upsert.table_names import rows_table
from aggregator.upsert.visibility import day_of, shown_since_s

PARTITIONS = """
SELECT DISTINCT partition_id FROM system.parts
WHERE database = %(database)s AND table = %(table)s AND active
"""
LEADS = """
SELECT is_leader FROM system.replicas WHERE database = %(database)s AND table = %(table)s
"""


class Role(Enum):
    """Role of a server in dropping a partition: for itself, for all replicas, or not at all."""

    ALONE = auto()
    LEADS = auto()
    FOLLOWS = auto()


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

    Replicas drop what their leader drops. 18.16 hands such a statement on to the leader as another
    user than ours, so it goes to the leader itself. A day that is there again, as an insert came
    late, is dropped by the next call; dropping it twice does nothing.

    Args:
        table: name of the upsert table.
        horizon_time_ms: of the tick of the published horizon (Tick.time_ms). The horizon is
            published before.

    Raises NotStored if the leader, or a server that keeps rows of its own, does not answer or
    refuses; days of other servers may be dropped by then.
    """
    of = {"database": store.database, "table": rows_table(table)}
    name = quoted(store.database, rows_table(table))

    def drop(it: Connected) -> tuple[Role, list[int]]:
        role = _role(it.client.execute(LEADS, of))
        if role is Role.FOLLOWS:
            return role, []
        days = [int(day) for (day,) in it.client.execute(PARTITIONS, of)]
        expired = expired_days(days, horizon_time_ms, retention_hours)
        for day in expired:
            it.client.execute(f"ALTER TABLE {name} DROP PARTITION {day}")
        return role, expired

    dropped: set[int] = set()
    errors: list[NotStored] = []
    roles: set[Role] = set()
    for replica in store.replicas:
        try:
            role, days = store.answer_of(replica, drop)
        except NotStored as error:
            errors.append(error)
        else:
            roles.add(role)
            dropped |= {*days}
    # A replica that is silent drops what the leader has dropped once it is back.
    if errors and Role.LEADS not in roles:
        raise errors[0]
    return tuple(sorted(dropped))


def _role(leads: list[tuple[int]]) -> Role:
    """Returns the role of a server by its row of system.replicas; without one it is alone."""
    if not leads:
        return Role.ALONE
    return Role.LEADS if leads[0][0] else Role.FOLLOWS
