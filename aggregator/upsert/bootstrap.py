"""Bootstrap: the state of the keys at a claimed tick, read from the store instead of the log.

The state follows from the rows that are visible at the tick, and from the deletes, which are never
visible: without them a late row would revive its key. Deletes older than the retention are left
out, as no record that old is admitted any more. So are rows of days that are over at the tick,
whether or not the server has dropped them yet (decision 0114).

A plan is cut into slices, which tasks read by themselves, from any server that is complete. What a
slice holds does not depend on the server, nor on what is settled or merged meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from clickhouse_driver import Client

from aggregator.store.identifier import quoted
from aggregator.store.replica import Connected, Replica
from aggregator.store.shard_store import NotStored, ShardStore
from aggregator.upsert.claims import TickRow
from aggregator.upsert.facts import FACTS, KEY_BYTES
from aggregator.upsert.server_levels import read_sight
from aggregator.upsert.table_names import (
    DELETED,
    KEY,
    ORDER,
    ROW_ID,
    TIME,
    UNTIL,
    rows_table,
    ticks_table,
    updates_table,
)
from aggregator.upsert.tick import ROW_BITS, Lane
from aggregator.upsert.upsert_schema import FIRST_GENERATION, ROWS_PARTITION, literal
from aggregator.upsert.visibility import (
    DAY_S,
    day_begin_s,
    has_ends,
    remembered_since_s,
    row_id_end,
    shown_since_s,
)

T = TypeVar("T")
BATCH_ROWS = 65_536
COMPLETE_SECONDS = 0.2
"""Pause before servers are asked again whether they are complete."""
QUERY_BYTES_MAX = 1 << 26
"""Longest query: it names all lanes."""
PACKED = np.dtype(
    [
        ("key", f"V{KEY_BYTES}"),
        ("order", "<i8"),
        ("offset", "<i8"),
        ("row", "<u4"),
        ("row_id", "<i8"),
        ("is_delete", "u1"),
        ("place", "<u4"),
    ]
)
"""Row as the server packs it: one string a row is read many times faster than seven columns."""
NO_PLACE = (1 << 32) - 1
DAYS = """
SELECT {day} AS day, count() FROM {table} WHERE {time} >= toDateTime({since_s})
GROUP BY day ORDER BY day
"""
BIRTHS = """
SELECT length(ends) AS lanes, min(tick) FROM {table}
WHERE what = 'claim' GROUP BY lanes ORDER BY lanes
"""
"""First ticks that were claimed with so many lanes, which are always kept (horizon.py)."""
OWN_POINT = """
SELECT maxIf(tick, what = 'settled' AND tick <= %(tick)s AND has(servers, %(server)s)),
maxIf(tick, what = 'horizon') FROM {table} WHERE generation = %(generation)s
"""
SETTINGS = {
    "strings_as_bytes": True,
    "max_query_size": QUERY_BYTES_MAX,
    "max_block_size": BATCH_ROWS,
}


class UnknownLane(Exception):
    """Row in the store that is of no lane of the table. Another table's rows, perhaps: call a
    human."""


class Slice(NamedTuple):
    """Part of the keys' rows: those of a day, or of a share of its keys.

    Args:
        day: of UTC, as YYYYMMDD.
        share, shares: number of the part of the day's keys, from 0, and how many there are.
    """

    day: int
    share: int = 0
    shares: int = 1


@dataclass(frozen=True, slots=True)
class BootstrapPlan:
    """Plan of a bootstrap, which can be pickled.

    Args:
        tick: that the state is to be of.
        oldest_s: Unix time in seconds; deletes before it are left out.
        lanes: of the table at the tick, by number.
        born: first tick of each lane, by number.
        slices: together all rows that may be seen at the tick.
    """

    table: str
    tick: int
    oldest_s: int
    lanes: tuple[Lane, ...]
    born: tuple[int, ...]
    slices: tuple[Slice, ...] = ()
    generation: int = FIRST_GENERATION


def plan_bootstrap(
    store: ShardStore,
    table: str,
    claim: TickRow,
    lanes: Sequence[Lane],
    *,
    retention_hours: float,
    tasks: int,
    wait: Callable[[float], None],
) -> BootstrapPlan:
    """Returns the plan of a bootstrap at a claimed tick. Blocking.

    Args:
        lanes: of the table's newest tick, by number.
        tasks: that share the slices.
        wait: waits for seconds while no server is complete; raises where the caller stops.

    Raises NotStored if no server answers.
    """
    oldest_s = remembered_since_s(claim.time_ms, retention_hours)
    since_s = shown_since_s(claim.time_ms, retention_hours)

    def ask(it: Connected) -> tuple[list[tuple[int, int]], list[tuple[int, int]]] | None:
        sight = read_sight(it.client, store.database, table)
        if not (sight.has_rows and sight.has_ticks):
            return None
        rows = quoted(store.database, rows_table(table))
        days = it.client.execute(
            DAYS.format(table=rows, time=TIME, day=ROWS_PARTITION, since_s=since_s)
        )
        ticks = quoted(store.database, ticks_table(table))
        births = it.client.execute(BIRTHS.format(table=ticks))
        return days, births

    _, (days, births) = _from_complete(store, ask, wait)
    return BootstrapPlan(
        table,
        claim.tick,
        oldest_s,
        tuple(lanes[: len(claim.ends)]),
        tuple(first_ticks(len(claim.ends), births)),
        tuple(slices_of(days, tasks)),
        claim.generation,
    )


def _from_complete(
    store: ShardStore, ask: Callable[[Connected], T | None], wait: Callable[[float], None]
) -> tuple[Replica, T]:
    """Returns a server that is complete, and its answer. Raises NotStored if none answers."""
    while True:
        errors: list[NotStored] = []
        for replica in store.in_turn():
            try:
                answer = store.answer_of(replica, ask)
            except NotStored as error:
                errors.append(error)
            else:
                if answer is not None:
                    return replica, answer
        if len(errors) == len(store.replicas):
            raise errors[-1]
        wait(COMPLETE_SECONDS)


def slices_of(days: Sequence[tuple[int, int]], tasks: int) -> Iterator[Slice]:
    """Yields slices of about equal numbers of rows, at least one for each day. Pure.

    The parts of a day are found by reading all its keys, so that there are no more of them than
    tasks.

    Args:
        days: with the number of rows.
    """
    rows = sum(count for _, count in days)
    for day, count in days:
        shares = max(1, -(-count * tasks // rows))
        for share in range(shares):
            yield Slice(day, share, shares)


def first_ticks(lanes: int, births: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Yields the first tick that each lane has, by number. Pure.

    Args:
        births: (number of lanes, first tick with so many), by number.
    """
    for lane in range(lanes):
        yield min((tick for count, tick in births if count > lane), default=0)


def read_slice(
    store: ShardStore, plan: BootstrapPlan, which: Slice, *, wait: Callable[[float], None]
) -> Iterator[pa.RecordBatch]:
    """Yields the facts (facts.FACTS) of a slice. Blocking.

    Args:
        wait: waits for seconds while no server is complete; raises where the caller stops.

    Raises:
        NotStored: no server answers.
        UnknownLane: call a human.

    An error of the driver or of the socket ends a slice that was begun: read all of it again.
    """
    replica, settled = _from_complete(
        store, lambda it: usable_point(it.client, store.database, plan), wait
    )
    query = slice_query(store.database, plan, which, settled)
    # Parts that a server has stay: what it answers is whole whatever it lacks by then.
    with replica.connected() as it:
        yield from read_facts(it.client, query, plan)


def usable_point(client: Client, database: str, plan: BootstrapPlan) -> int | None:
    """Returns the newest settle point of a server at or before the plan's tick; None if the server
    is not complete, or lacks ends: those behind its settle point, up to the horizon, may be gone.

    Raises the errors of the driver and of the socket.
    """
    sight = read_sight(client, database, plan.table)
    if not (sight.has_rows and sight.has_updates and sight.has_ticks):
        return None
    # Whatever was dropped when the server was looked at lies before a horizon that it has.
    query = OWN_POINT.format(table=quoted(database, ticks_table(plan.table)))
    wanted = {"tick": plan.tick, "server": sight.server, "generation": plan.generation}
    [(settled, horizon)] = client.execute(query, wanted)
    return settled if has_ends(settled, horizon) else None


def slice_query(database: str, plan: BootstrapPlan, which: Slice, settled: int) -> str:
    """Returns the query of a slice's packed rows on a server.

    Args:
        settled: newest settle point at or before the tick that the server has.
    """
    end = row_id_end(plan.tick)
    visible = f"{UNTIL} > {plan.tick}"
    if settled < plan.tick:
        visible += (
            f" AND {ROW_ID} NOT IN (SELECT row_id FROM "
            f"{quoted(database, updates_table(plan.table))} "
            f"WHERE tick > {settled} AND tick <= {plan.tick})"
        )
    begin_s = day_begin_s(which.day)
    terms = [
        f"{TIME} >= toDateTime({begin_s}) AND {TIME} < toDateTime({begin_s + DAY_S})",
        f"{ROW_ID} >= {1 << ROW_BITS}",
        f"{ROW_ID} < {end}",
        f"({DELETED} = 1 AND {TIME} >= toDateTime({plan.oldest_s}) OR {visible})",
    ]
    if which.shares > 1:
        terms.append(
            f"reinterpretAsUInt16(substring({KEY}, 1, 2)) % {which.shares} = {which.share}"
        )
    places = _places(plan.lanes)
    texts = ", ".join(literal("\n".join(map(str, place))) for place in places)
    place = (
        f"transform(concat(_cluster, '\\n', _topic, '\\n', toString(_partition)), [{texts}], "
        f"[{', '.join(f'toUInt32({at})' for at in range(len(places)))}], toUInt32({NO_PLACE}))"
    )
    fields = (
        KEY,
        *(f"toFixedString(reinterpretAsString({name}), {size})" for name, size in (
            (ORDER, 8), ("_offset", 8), ("_row", 4), (ROW_ID, 8), (DELETED, 1), (place, 4)
        )),
    )  # fmt: skip
    return (
        f"SELECT concat({', '.join(fields)}) "
        f"FROM {quoted(database, rows_table(plan.table))} WHERE {' AND '.join(terms)}"
    )


def read_facts(client: Client, query: str, plan: BootstrapPlan) -> Iterator[pa.RecordBatch]:
    """Yields facts as a server answers a slice's query. Raises the errors of the driver and of the
    socket, and UnknownLane."""
    numbers = LaneNumbers.of(plan.lanes, plan.born)
    for rows in client.execute_iter(query, settings=SETTINGS, chunk_size=BATCH_ROWS):
        yield facts_of(np.frombuffer(b"".join([row for (row,) in rows]), PACKED), numbers)


@dataclass(frozen=True, slots=True, eq=False)
class LaneNumbers:
    """Lanes of each place, which is a partition of a topic of a cluster. Pure.

    A topic that was deleted and created again has a lane for each of the two. A row in a tick with
    the later lane is of that one, as the log of the earlier one was gone.

    Args:
        lanes: by place, the numbers of its lanes.
        born: by place, the first ticks of these.
    """

    lanes: tuple[tuple[int, ...], ...]
    born: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, lanes: Sequence[Lane], born: Sequence[int]) -> LaneNumbers:
        numbers: dict[tuple[str, str, int], list[int]] = {}
        for number, lane in enumerate(lanes):
            numbers.setdefault((lane.cluster, lane.topic, lane.partition), []).append(number)
        return cls(
            tuple(tuple(each) for each in numbers.values()),
            tuple(tuple(born[number] for number in each) for each in numbers.values()),
        )

    def numbers(
        self, place: npt.NDArray[np.uint32], tick: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int32]:
        """Returns the lane of each row. Raises UnknownLane."""
        if (place == NO_PLACE).any():
            raise UnknownLane("the table of rows has some of a partition that is no lane of it")
        first = np.array([each[0] for each in self.lanes], np.int32)
        found: npt.NDArray[np.int32] = first[place] if len(first) else np.empty(0, np.int32)
        for number, (lanes, born) in enumerate(zip(self.lanes, self.born, strict=True)):
            if len(lanes) > 1:
                of_place = place == number
                at = np.searchsorted(born, tick[of_place], side="right") - 1
                found[of_place] = np.array(lanes, np.int32)[np.maximum(at, 0)]
        return found


def facts_of(packed: npt.NDArray[np.void], numbers: LaneNumbers) -> pa.RecordBatch:
    """Returns packed rows as facts. Pure. Raises UnknownLane."""
    count = len(packed)
    row_id = packed["row_id"]
    key = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(KEY_BYTES), count, [None, pa.py_buffer(packed["key"].tobytes())]
    )
    columns = [
        key.cast(pa.binary()),
        pa.array(packed["order"]),
        pa.array(numbers.numbers(packed["place"], row_id >> ROW_BITS)),
        pa.array(packed["offset"]),
        pa.array(packed["row"].astype(np.int32)),
        pa.array(row_id),
        pa.array(packed["is_delete"] == 1),
        pa.nulls(count, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=FACTS)


def _places(lanes: Sequence[Lane]) -> list[tuple[str, str, int]]:
    return list(dict.fromkeys((lane.cluster, lane.topic, lane.partition) for lane in lanes))
