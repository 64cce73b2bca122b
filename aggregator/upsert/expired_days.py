"""Expired days: days of rows that no permitted mark shows any more, and how servers drop them.

A mark does not show rows of days before its own (shown_since_s in visibility.py), and permitted
marks begin with the horizon. So a day before that of the horizon is dropped as a partition of
`t__rows`, on one server after the other, and all give the same answers meanwhile (decision 0114).

Partitions of other tables go in the same way (horizon.py). One that the server refuses to drop
holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from aggregator.store.identifier import quoted
from aggregator.store.insert_errors import InsertProblem
from aggregator.store.replica import Connected
from aggregator.store.shard_store import NotStored, ShardStore
from aggregator.upsert.table_names import rows_table
from aggregator.upsert.visibility import day_of, shown_since_s

TOO_LARGE = 359
FORBIDDEN = frozenset((164, 497))
PARTITIONS = """
SELECT DISTINCT partition_id FROM system.parts
WHERE database = %(database)s AND table = %(table)s AND active
"""


class Drops(NamedTuple):
    """Partitions that were to be dropped.

    Args:
        dropped: by their numbers.
        refused: what the server answered for the others, and the mend.
    """

    dropped: tuple[int, ...]
    refused: Mapping[int, str]


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
) -> Drops:
    """Drops the expired days of an upsert table on all servers. Blocking.

    Args:
        table: name of the upsert table.
        horizon_time_ms: of the tick of the published horizon (Tick.time_ms).

    Raises NotStored if the leader does not answer.
    """

    def are_over(days: Iterable[int]) -> list[int]:
        return expired_days(days, horizon_time_ms, retention_hours)

    return drop_partitions(store, rows_table(table), are_over)


def drop_partitions(
    store: ShardStore, name: str, are_over: Callable[[Iterable[int]], list[int]]
) -> Drops:
    """Drops partitions of a table on all servers. Blocking.

    Replicas drop what their leader drops, one after the other. A partition that is there again, as
    an insert came late, is dropped by the next call; dropping it twice does nothing.

    Args:
        name: of the table, whose partitions are numbers.
        are_over: returns those of its partitions that go.

    Raises NotStored if the leader does not say what there is.
    """
    of = {"database": store.database, "table": name}
    table = quoted(store.database, name)

    def found(it: Connected) -> list[int]:
        return are_over(int(each) for (each,) in it.client.execute(PARTITIONS, of))

    def drop(it: Connected, partition: int) -> None:
        it.client.execute(f"ALTER TABLE {table} DROP PARTITION {partition}")

    dropped: list[int] = []
    refused: dict[int, str] = {}
    for each in store.answer_of_leader(name, found):
        try:
            store.answer_of_leader(name, partial(drop, partition=each))
        except NotStored as error:
            refused[each] = f"{name} keeps partition {each}: {refusal(error.problem)}"
            if error.problem.code is None:
                break  # A server that does not answer would be waited for at each partition.
        else:
            dropped.append(each)
    return Drops(tuple(dropped), refused)


def refusal(problem: InsertProblem) -> str:
    """Returns why a server does not drop a partition, with the mend where there is one. Pure."""
    if problem.code == TOO_LARGE:
        mend = "; set max_partition_size_to_drop of the servers to 0, or above that size"
    elif problem.code in FORBIDDEN:
        mend = "; grant the user ALTER DELETE and DROP PARTITION on the table"
    else:
        mend = ""
    return f"{problem.text}{mend}"
