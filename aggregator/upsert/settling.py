"""Settling: brings the ends of rows into the rows, so that queries need not join them.

1  choose   S2 (settle_plan.py), and S1: the settle point before, of each server the newest that
            names it.
2  push     a last part that 18.16 would leave out: see Pusher below.
3  mutate   UPDATE _until = least(_until, S2) of the rows whose ends are in (S1, S2].
4  count    on each server, the rows of these ends that are open still.
5  compare  a server whose settle point lies before the horizon: see below.
6  publish  S2, with the names of the servers where no row is open.

Each step may be repeated, by several settlers at once, and the process may end after any: a settle
point is published only after the count, and `_until` is only lowered, to a tick at which all
queries that read it do not look at ends before any more. One constant for all rows is enough: a
query at a mark between S1 and S2 reads the ends themselves (decision 0102).

A server that was away for longer than the history, or is new, cannot count: ends behind its settle
point are gone. Its parts become those of the others by replication alone. It has S2 once the rows
that are open at S2 are those of a server that was counted at S2. If no server is left that can
count, the rows have to prove that ends are in them (lost_ends.py).

Pusher: of each partition of the table, 18.16 leaves out of merges and mutations the last part that
a quorum insert made, until there is another. So a row of tick 0, which no query sees, is inserted
into the partitions where such a part holds rows to end. A mutation that leaves a part out is never
done, and a part has to take all of them at once when its turn comes; so that they do not pile up,
all partitions are pushed once there are several.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple, TypeVar

import pyarrow as pa
from clickhouse_driver import Client

from aggregator.store.identifier import quoted
from aggregator.store.replica import Connected, Replica
from aggregator.store.server_features import SUBQUERY_MUTATIONS
from aggregator.store.shard_store import NotStored, ShardStore
from aggregator.tables.native_block import NativeBlock
from aggregator.tables.table_schema import Column, TableSchema
from aggregator.upsert.claims import TickRow, TickTable, What
from aggregator.upsert.lost_ends import doubtful_keys
from aggregator.upsert.repeatable_insert import RepeatableInserts
from aggregator.upsert.row_ends import encoded
from aggregator.upsert.server_levels import (
    ANSWER_SECONDS,
    ServerSight,
    is_same_server,
    look_at_servers,
    read_sight,
)
from aggregator.upsert.settle_plan import SettlePlan
from aggregator.upsert.table_names import (
    ROW_ID,
    TIME,
    UNTIL,
    rows_table,
    ticks_table,
    updates_table,
)
from aggregator.upsert.tick import ROW_BITS
from aggregator.upsert.visibility import ReplicaCount, has_ends, has_settled, row_id_end
from replicator.runtime.clock import monotonic

T = TypeVar("T")
POLL_SECONDS = 0.1
POLL_SECONDS_MAX = 2.0
ATTEMPT_SECONDS = 10.0
"""Time after which a mutation that is done and left rows open is made again."""
UNFINISHED_MAX = 20
"""Mutations that may wait for last parts before all partitions are pushed."""
PUSHER_COLUMNS = {ROW_ID: "UInt64", UNTIL: "UInt32", TIME: "DateTime"}
ENDS = """
SELECT uniqExact(row_id) FROM {updates} WHERE tick > {after} AND tick <= {up_to}
"""
UNFINISHED = """
SELECT count() FROM system.mutations
WHERE database = %(database)s AND table = %(table)s AND parts_to_do > 0
"""
HORIZON = "SELECT max(tick) FROM {ticks} WHERE what = 'horizon' AND generation = {generation}"
OPEN_ROWS = f"""
SELECT count(), sum(intHash64({ROW_ID})) FROM {{rows}}
WHERE {UNTIL} > {{point}} AND {ROW_ID} < {{end}}
"""
TO_DO = """
SELECT max(parts_to_do) FROM system.mutations
WHERE database = %(database)s AND table = %(table)s AND NOT is_done
"""
LAST_PARTS = """
SELECT argMax(name, max_block_number) FROM system.parts
WHERE database = %(database)s AND table = %(table)s AND active GROUP BY partition
"""


def update_statement(
    database: str, table: str, after: int, up_to: int, ends: int, generation: int
) -> str:
    """Returns the mutation that brings the ends of the ticks in (after, up_to] into the rows.

    Each server runs the sub-queries by itself. One that lacks ends would be the first to be done,
    and hand its parts to all others; so it fails, and tries again until it has them. A part whose
    turn comes once ends were dropped, up to a published horizon, has none of their rows open, but
    on a server that was away: its parts are compared with those of the others, and fetched.

    Args:
        ends: that these ticks have; a block that came twice may make it more on a server.
    """
    updates = quoted(database, updates_table(table))
    horizon = HORIZON.format(ticks=quoted(database, ticks_table(table)), generation=generation)
    lacks_ends = (
        f"(SELECT count() FROM {updates} WHERE tick > {after} AND tick <= {up_to}) < {ends} "
        f"AND ({horizon}) <= {after}"
    )
    # Within the comparison, so that it comes first: newer servers order conditions as they like.
    row_id = f"({ROW_ID} + throwIf({lacks_ends}))"
    return (
        f"ALTER TABLE {quoted(database, rows_table(table))} "
        f"UPDATE {UNTIL} = least({UNTIL}, toUInt32({up_to})) "
        f"WHERE {open_condition(database, table, after, up_to, row_id)}"
    )


def open_condition(database: str, table: str, after: int, up_to: int, row_id: str = ROW_ID) -> str:
    """Returns the condition on rows that ended in (after, up_to], and do not tell so."""
    return (
        f"{UNTIL} > {up_to} AND {ROW_ID} < {row_id_end(up_to)} AND {row_id} IN "
        f"(SELECT row_id FROM {quoted(database, updates_table(table))} "
        f"WHERE tick > {after} AND tick <= {up_to})"
    )


@dataclass(slots=True)
class Settled:
    """Result of one settling.

    Args:
        plan: settle point that was to be reached.
        counts: by name of the replica, the last count; of those that answered all the time.
        failures: by address, why a replica was not counted.
        are_ends_lost: no server can count that answers, and the rows of none prove it whole.
        mutations: statements that were made.
        pushed: rows that were inserted to push last parts.
    """

    plan: SettlePlan
    is_published: bool = False
    counts: dict[str, ReplicaCount] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    are_ends_lost: bool = False
    mutations: int = 0
    pushed: int = 0

    @property
    def servers(self) -> tuple[str, ...]:
        """Names of the replicas that have the settle point, published or not."""
        point = self.plan.point
        return tuple(name for name in sorted(self.counts) if has_settled(self.counts[name], point))


class Attempt(Enum):
    """Outcome of a mutation that was waited for."""

    SETTLED = auto()
    """No server has rows that are open."""
    MISSED = auto()
    """A server has done its parts, and has rows that are open."""
    UNDER_WAY = auto()
    """Servers still have parts to do."""


class OpenRows(NamedTuple):
    """Rows of a server that are open at a settle point.

    Args:
        digest: of their ids, whatever their order.
    """

    rows: int
    digest: int


def compared(point: int, found: OpenRows, wanted: OpenRows) -> ReplicaCount:
    """Returns the count of a server whose ends are gone. Pure.

    Args:
        wanted: of a server that has the settle point.
    """
    different = max(1, found.rows - wanted.rows) if found != wanted else 0
    return ReplicaCount(point, different)


class _Server(NamedTuple):
    """Server that has all rows and ends up to the settle point."""

    replica: Replica
    sight: ServerSight


class Settler:
    """Settling of one upsert table. All calls block.

    Args:
        wait: waits for seconds; raises where the caller stops.
        attempt_seconds: see ATTEMPT_SECONDS.
        unfinished_max: see UNFINISHED_MAX.
    """

    def __init__(
        self,
        store: ShardStore,
        inserts: RepeatableInserts,
        ticks: TickTable,
        table: str,
        *,
        wait: Callable[[float], None],
        attempt_seconds: float = ATTEMPT_SECONDS,
        unfinished_max: int = UNFINISHED_MAX,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._store = store
        self._inserts = inserts
        self._ticks = ticks
        self._table = table
        self._wait = wait
        self._attempt_seconds = attempt_seconds
        self._unfinished_max = unfinished_max
        self._clock = clock

    def settle(self, plan: SettlePlan, *, timeout_seconds: float) -> Settled:
        """Reaches a settle point, and publishes it.

        A server that is silent, or has not all ends when the time is over, is not counted: the view
        and the queries do without this settle point on it, and the next settling counts it from the
        last that names it.

        Raises NotStored if the point cannot be reached until an operator acts, or no server
        answers.
        """
        deadline = self._clock() + timeout_seconds
        result = Settled(plan)
        # The other half is for counting, even if a server hangs or lags all the time.
        complete = self._complete_servers(result, timeout_seconds / 2)
        counted = self._countable(complete, result)
        returning = [it for name, it in complete.items() if name not in counted]
        is_made, patience = plan.is_begun, min(self._attempt_seconds, timeout_seconds / 4)
        while counted and self._clock() < deadline:
            if not is_made:
                self._bring(counted, result)
                patience = self._attempt_seconds
            until = min(deadline, self._clock() + patience)
            match self._counts(counted, result, until):
                case Attempt.SETTLED:
                    break
                case Attempt.MISSED:
                    is_made = False
                case Attempt.UNDER_WAY:
                    # Another mutation would have all parts done once more, behind this one.
                    is_made = True
        self._compare(returning, counted, result)
        self._publish(result)
        return result

    def _countable(self, complete: Mapping[str, _Server], result: Settled) -> dict[str, _Server]:
        """Returns the servers that have all ends behind the point that the plan has for them.

        If there is none, those count from the horizon on whose rows prove that they lack no end.
        """
        plan = result.plan
        counted = {name: it for name, it in complete.items() if plan.can_count(name)}
        if counted or not complete:
            return counted
        database, table = self._store.database, self._table

        def ask(it: Connected) -> int:
            return doubtful_keys(it.client, database, table, plan.horizon, plan.shown_since_s)

        for name, server in complete.items():
            keys = self._answer(server.replica, result, ask)
            if keys == 0:
                counted[name] = server
            elif keys is not None:
                result.failures[str(server.replica)] = f"has {keys} keys whose newest row is unsure"
        result.are_ends_lost = not counted
        after = {**plan.after, **dict.fromkeys(counted, plan.horizon)}
        result.plan = plan._replace(after=after)
        return counted

    def _bring(self, servers: Mapping[str, _Server], result: Settled) -> None:
        """Makes the mutation that brings the ends into the rows, if there are any."""
        plan = result.plan
        after = plan.first(servers)
        if ends := self._ends(servers, after, plan.point):
            self._push(servers, after, plan.point, result)
            statement = update_statement(
                self._store.database, self._table, after, plan.point, ends, plan.generation
            )
            self._mutate(servers, statement)
            result.mutations += 1

    def _complete_servers(self, result: Settled, seconds: float) -> dict[str, _Server]:
        """Returns the servers that have all rows and ends up to the point, by name.

        Args:
            seconds: for which those that lack some, or do not answer, are waited for.
        """
        deadline = self._clock() + seconds
        replicas = {str(replica): replica for replica in self._store.replicas}
        pause = POLL_SECONDS
        while True:
            sights, result.failures = look_at_servers(
                self._store, self._table, seconds=min(ANSWER_SECONDS, seconds)
            )
            complete = {
                sight.server: _Server(replicas[address], sight)
                for address, sight in sights.items()
                if sight.has_rows and sight.has_updates
            }
            lacking = [address for address, sight in sights.items() if sight.server not in complete]
            result.failures |= dict.fromkeys(lacking, "fetches rows or ends")
            is_patient = len(complete) < max(self._store.quorum, 1)
            # Those that get queries are complete most of the time: a short wait finds them so.
            if not lacking or self._clock() >= deadline or (pause > 1.0 and not is_patient):
                return complete
            self._wait(pause)
            pause = min(2 * pause, POLL_SECONDS_MAX)

    def _sight(self, it: Connected) -> ServerSight:
        return read_sight(it.client, self._store.database, self._table)

    def _ends(self, servers: Mapping[str, _Server], after: int, up_to: int) -> int:
        query = ENDS.format(
            updates=quoted(self._store.database, updates_table(self._table)),
            after=after,
            up_to=up_to,
        )
        first = next(iter(servers.values()))
        return self._store.answer_of(first.replica, lambda it: _number(it.client, query))

    def _push(
        self, servers: Mapping[str, _Server], after: int, up_to: int, result: Settled
    ) -> None:
        if self._store.quorum < 2:
            return
        database, table = self._store.database, self._table

        def ask(it: Connected) -> list[int]:
            of = {"database": database, "table": rows_table(table)}
            unfinished = _number(it.client, UNFINISHED, of)
            if unfinished >= self._unfinished_max:
                return last_parts_times(it.client, database, table, "1")
            condition = open_condition(database, table, after, up_to)
            return last_parts_times(it.client, database, table, condition)

        first = next(iter(servers.values()))
        days = self._store.answer_of(first.replica, ask)
        for day_s in days:
            number = secrets.randbits(ROW_BITS)
            name = f"sluice-push-{self._store.database}-{self._table}-{number}"
            self._inserts.insert(rows_table(self._table), pusher(number, day_s), name)
            result.pushed += 1

    def _mutate(self, servers: Mapping[str, _Server], statement: str) -> None:
        def ask(it: Connected) -> None:
            # Newer servers refuse sub-queries in mutations of replicated tables otherwise.
            known = {SUBQUERY_MUTATIONS} & it.features.settings
            it.client.execute(statement, settings=dict.fromkeys(known, 1))

        errors: list[NotStored] = []
        for server in servers.values():
            try:
                self._store.answer_of(server.replica, ask)
            except NotStored as error:
                errors.append(error)
            else:
                return
        raise errors[-1]

    def _counts(self, servers: dict[str, _Server], result: Settled, until: float) -> Attempt:
        """Counts the rows that are open until there are none on any server, or the time is over.

        A server that stops answering is not counted any more.
        """
        outcome = Attempt.UNDER_WAY
        open_servers = {name: replica for name, replica in servers.items()
                        if name not in result.servers}  # fmt: skip
        pause = POLL_SECONDS
        while True:
            for name, server in list(open_servers.items()):
                if not self._may_be_ready(server.replica, result):
                    continue
                count = self._answer(server.replica, result, self._count(server, result.plan))
                if count is None:
                    del open_servers[name], servers[name]
                    result.counts.pop(name, None)
                    continue
                result.counts[name] = count
                if name in result.servers:
                    del open_servers[name]
                else:
                    outcome = Attempt.MISSED
            if not open_servers:
                return Attempt.SETTLED
            if self._clock() >= until:
                return outcome
            self._wait(pause)
            pause = min(2 * pause, POLL_SECONDS_MAX)

    def _may_be_ready(self, replica: Replica, result: Settled) -> bool:
        """Returns False while a server has parts to mutate, but for the last of each partition."""

        def ask(it: Connected) -> bool:
            of = {"database": self._store.database, "table": rows_table(self._table)}
            [(parts,)] = it.client.execute(TO_DO, of)
            return bool((parts or 0) <= len(it.client.execute(LAST_PARTS, of)))

        return self._answer(replica, result, ask) is not False

    def _count(self, server: _Server, plan: SettlePlan) -> Callable[[Connected], ReplicaCount]:
        database, after = self._store.database, plan.first([server.sight.server])
        condition = open_condition(database, self._table, after, plan.point)
        table = quoted(database, rows_table(self._table))
        ticks = quoted(database, ticks_table(self._table))
        horizon = HORIZON.format(ticks=ticks, generation=plan.generation)

        def ask(it: Connected) -> ReplicaCount:
            rows = _number(it.client, f"SELECT count() FROM {table} WHERE {condition}")
            sight = self._sight(it)
            # An empty disk has no open rows either, and a server without these ends sees none.
            has_all = is_same_server(server.sight, sight) and sight.has_ticks
            has_all = has_all and has_ends(after, _number(it.client, horizon))
            return ReplicaCount(plan.point if has_all else 0, rows)

        return ask

    def _compare(
        self, returning: Sequence[_Server], counted: Mapping[str, _Server], result: Settled
    ) -> None:
        """Compares the open rows of servers that cannot count with those of one that was counted.

        Once in a settling, as it reads two columns of all rows: a server that still differs, as its
        parts are not yet those of the others, is compared again by the next one.
        """
        point = result.plan.point
        named = next((counted[name] for name in result.servers if name in counted), None)
        wanted = self._open_rows(named, result) if returning and named else None
        for server in returning:
            if wanted is None:
                text = "lacks ends, and no other server has the settle point"
                result.failures.setdefault(str(server.replica), text)
            elif (found := self._open_rows(server, result)) is not None:
                result.counts[server.sight.server] = compared(point, found, wanted)

    def _open_rows(self, server: _Server, result: Settled) -> OpenRows | None:
        """Returns the open rows of a server at the point; None if it does not answer, or was
        started again."""
        query = OPEN_ROWS.format(
            rows=quoted(self._store.database, rows_table(self._table)),
            point=result.plan.point,
            end=row_id_end(result.plan.point),
        )

        def ask(it: Connected) -> OpenRows | None:
            [found] = it.client.execute(query)
            return OpenRows(*found) if is_same_server(server.sight, self._sight(it)) else None

        return self._answer(server.replica, result, ask)

    def _publish(self, result: Settled) -> None:
        if len(result.servers) < max(self._store.quorum, 1):
            return
        plan = result.plan
        row = TickRow(
            plan.generation, plan.point, What.SETTLED, plan.time_ms, servers=result.servers
        )
        self._ticks.publish(row)
        result.is_published = True

    def _answer(self, replica: Replica, result: Settled, ask: Callable[[Connected], T]) -> T | None:
        """Returns the answer of a replica; None if it does not answer."""
        try:
            answer = self._store.answer_of(replica, ask)
        except NotStored as error:
            result.failures[str(replica)] = error.problem.text
            return None
        result.failures.pop(str(replica), None)
        return answer


def last_parts_times(client: Client, database: str, table: str, condition: str) -> list[int]:
    """Returns a time, in Unix seconds, of each partition whose last part has such rows.

    Raises the errors of the driver and of the socket.
    """
    of = {"database": database, "table": rows_table(table)}
    last = tuple(name for (name,) in client.execute(LAST_PARTS, of))
    if not last:
        return []
    query = (
        f"SELECT toInt64(toUnixTimestamp(max({TIME}))) "
        f"FROM {quoted(database, rows_table(table))} WHERE {condition}"
    ).replace("%", "%%")
    found = client.execute(f"{query} AND _part IN %(last)s GROUP BY _part", {"last": last})
    return sorted(time_s for (time_s,) in found)


def pusher(number: int, time_s: int) -> NativeBlock:
    """Returns a block of one row that nobody sees, in the partition of a time.

    Args:
        number: that no other has, so that it is no repeat of another.
    """
    schema = TableSchema("", tuple(Column(*each) for each in PUSHER_COLUMNS.items()))
    values = {ROW_ID: pa.array([number]), UNTIL: pa.array([0]), TIME: pa.array([time_s])}
    return encoded(values, schema)


def _number(client: Client, query: str, parameters: Mapping[str, str] | None = None) -> int:
    [(number,)] = client.execute(query, parameters)
    return int(number)
