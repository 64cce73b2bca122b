"""Upsert check: compares claims, rows and ends of an upsert table on every replica with its tick,
with the records of the topics, and with each other.

The order of the requests prevents that what comes late looks missing, or foreign: first the tick,
then the claims, then the rows and ends of the ticks that were claimed by then, once a replica has
all its parts; at last the claims and the tick once more.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from aggregator.formats.record_slice import RecordSlice
from aggregator.store.replica import Replica
from aggregator.store.shard_store import DRIVER_ERRORS, NotStored, ShardStore, StoreTimeouts
from aggregator.tables.table_schema import TableSchema
from aggregator.upsert.row_facts import order_since, user_schema
from aggregator.upsert.table_names import rows_table, ticks_table, updates_table
from aggregator.upsert.tick import OPEN, ROW_BITS, TICK_MAX, Tick
from aggregator.upsert.tick_codec import UnreadableTick
from aggregator.upsert.tick_store import TickStore
from aggregator.upsert.upsert_schema import TICKS_PER_PARTITION
from aggregator.upsert.version import RowEnd, Version
from aggregator.upsert.visibility import shown_since_s
from aggregator.verifier.claim_history import Claim, compared_claims, unbroken_from
from aggregator.verifier.key_histories import Until, compared_ends, expected_ends, wrong_untils
from aggregator.verifier.lane_records import LaneRecords
from aggregator.verifier.plain_records import reader_of
from aggregator.verifier.row_check import EXAMPLES_MAX, RowCount, RowResult
from aggregator.verifier.row_values import RowValues
from aggregator.verifier.table_rows import LogRange, TopicInTable, wait_complete
from aggregator.verifier.tick_rows import (
    LaneLog,
    StoredRow,
    Ticks,
    compared_rows,
    cut_offsets,
)
from aggregator.verifier.tick_rules import TickEntry
from aggregator.verifier.upsert_rows import IDS_MAX, UpsertRows, derivations
from replicator.clickhouse.errors import reason
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.topology import Appliance
from replicator.config.upsert_table import UpsertTable
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from replicator.runtime.run_in_thread import run_in_thread

BATCH_ROWS = 200_000
"""Rows of consecutive ticks that are compared at a time."""
T = TypeVar("T")


@dataclass(eq=False)
class _Server:
    """Replica, with a count for each of the three tables.

    Args:
        points: settle points that name it.
        newest: newest tick of which it has anything, before the claims are read again.
        settled: _until of the rows of all batches, but of those that are open, and of deletes.
        lacking: rows of all batches that others have, and that it does not.
    """

    replica: Replica
    name: str
    ticks: RowCount
    rows: RowCount
    ends: RowCount
    is_silent: bool = False
    points: list[int] = field(default_factory=list)
    horizon: int = 0
    horizon_ms: int = 0
    newest: int = 0
    settled: dict[int, int] = field(default_factory=dict)
    lacking: set[int] = field(default_factory=set)

    @property
    def counts(self) -> tuple[RowCount, ...]:
        return self.ticks, self.rows, self.ends

    def doubt(self, text: str) -> None:
        for each in self.counts:
            each.doubt(text)


@dataclass(eq=False)
class _Batch:
    """Consecutive ticks.

    Args:
        logs: of their lanes.
        slices: records that have values, by lane.
    """

    ticks: Ticks
    first: int
    last: int
    logs: dict[int, LaneLog] = field(default_factory=dict)
    slices: dict[int, list[RecordSlice]] = field(default_factory=dict)


class UpsertCheck:
    """Check of one upsert table. Blocking.

    Args:
        entry: the newest tick, as the verifier has read it; None: there is none that it can read.
        since_ms: ticks of this time and later are compared, and the claims of all.
        timeout_seconds: for each answer, and for replicas to catch up.
    """

    def __init__(
        self,
        appliance: Appliance,
        feed: ClickHouseFeed,
        table: UpsertTable,
        entry: TickEntry | None,
        since_ms: int,
        timeout_seconds: float,
    ) -> None:
        self._feed = feed
        self._table = table
        self._home = feed.home_of(table)
        self._tick = entry.tick if entry else Tick(1, 0, 0)
        self._is_known = entry is not None
        self._since_ms = since_ms
        self._timeout_seconds = timeout_seconds
        self._servers: list[_Server] = []
        lanes = self._tick.lanes
        self._records = LaneRecords(
            appliance, feed, table, lanes, self._doubt_rows, timeout_seconds
        )
        self._problems: list[str] = []
        self._ended: dict[int, int] = {}
        timeouts = StoreTimeouts(insert=timeout_seconds)
        self._store = ShardStore(feed.shard_of_table(table), timeouts, feed=feed.name, kept=1)

    def run(self) -> RowResult:
        """Compares the table on all replicas."""
        asyncio.run(self._run())
        counts = [count for server in self._servers for count in server.counts]
        counts.sort(key=lambda each: (each.table, each.replica))
        return RowResult(tuple(counts), tuple(dict.fromkeys(self._problems)))

    async def _run(self) -> None:
        try:
            schemas = await run_in_thread(self._store.schemas)
            names = [name(self._table.name) for name in (ticks_table, rows_table, updates_table)]
            missing = [name for name in names if name not in schemas]
            self._servers = [self._server(replica, names) for replica in self._store.replicas]
            if missing:
                self._doubt(f"there is no table {', '.join(missing)}: sluice upsert create")
                return
            await self._compare(schemas[names[1]], has_memory=schemas[names[2]].is_replicated)
        except (Unreachable, Answered, NotStored) as error:
            self._problems.append(str(error))
            self._doubt("a server did not answer")
        except TimeoutError:
            self._problems.append(f"{self._home}: no answer within {self._timeout_seconds:g} s")
            self._doubt("a server did not answer")
        finally:
            await self._records.close()
            await run_in_thread(self._store.close)

    async def _compare(self, schema: TableSchema, *, has_memory: bool) -> None:
        if not self._is_known and await self._newest_tick():
            self._doubt("the tick could not be read when the check began")
            return
        firsts = await self._each(lambda _, it: it.first_claim(self._since_ms))
        first = min((each for each in firsts.values() if each), default=self._tick.number + 1)
        before = max(first - 1, 1)
        claims = await self._each(lambda server, it: self._complete_claims(server, it, before))
        found: dict[int, Claim] = {}
        for some in claims.values():
            found.update(
                {
                    each.tick: each
                    for each in some
                    if each.generation == self._tick.generation and each.tick <= self._tick.number
                }
            )
        await self._each(self._look)
        horizon = max((each.horizon for each in self._servers), default=0)
        first = unbroken_from(found.keys(), first, horizon)
        before = max(first - 1, 1)
        compared = 0
        for batch in _batches(found, first, self._tick):
            await self._compare_batch(batch, schema, has_memory=has_memory)
            compared += batch.last - batch.first + 1
        if compared == len([each for each in found if each >= first]):
            last = max(found, default=first - 1)
            await self._each(lambda server, it: self._compare_untils(server, it, first, last))
        else:
            self._doubt_rows("claims are missing: the ticks behind them are not compared")
        await self._compare_claims(before, has_memory=has_memory)

    # -- claims

    async def _compare_claims(self, first: int, *, has_memory: bool) -> None:
        found = await self._each(lambda server, it: self._claims_now(server, it, first))
        newest = await self._newest_tick()
        for server, (claims, older) in found.items():
            of = compared_claims(
                claims,
                first,
                self._tick,
                newest,
                has_memory=has_memory,
                horizon=server.horizon,
            )
            count = server.ticks
            count.found = len(claims) + older
            # Ticks begin with 1, and claims before the horizon may be gone.
            lost = first - max(server.horizon, 1) - older
            count.missing += len(of.missing) + max(lost, 0)
            count.expected = count.missing + len({each.tick for each in claims}) + older
            count.expected -= len(set(of.surplus))
            count.surplus += len(of.surplus)
            count.doubled += len(of.doubled)
            count.changed += len(of.changed)
            _name(count, "missing: claims of ticks", of.missing)
            if lost > 0:
                count.example(f"missing: {lost} claims of ticks before {first}")
            _name(count, "doubled: claims of ticks", of.doubled)
            for text in of.texts:
                count.example(text)
            if of.maybe_repeated:
                _doubt_repeated(count, of.maybe_repeated)
        claimed = max((each.tick for claims, _ in found.values() for each in claims), default=0)
        # A claim is on a quorum of the servers: those that answer have it if all do.
        begun = claimed + 1 if len(found) == len(self._servers) else newest
        for server in found:
            if server.newest > min(newest, begun):
                server.rows.surplus += 1
                server.rows.example(
                    f"foreign: rows or ends of tick {server.newest}; tick {claimed} is the newest "
                    f"that is claimed, {newest} the newest that was cut"
                )

    async def _newest_tick(self) -> int:
        """Returns the number of the tick that is committed now."""
        cluster = await self._records.cluster(self._home)
        store = TickStore(cluster, self._feed.name, self._table.name)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                tick = await store.read()
        except UnreadableTick as error:
            self._problems.append(str(error))
            return TICK_MAX
        return tick.number if tick else 0

    def _complete_claims(self, server: _Server, it: UpsertRows, first: int) -> list[Claim]:
        """Returns the claims of a server that has all its parts; a doubt and none, if it lacks
        some."""
        for name in (ticks_table, rows_table, updates_table):
            table = name(self._table.name)
            if not wait_complete(it.client, it.database, table, self._timeout_seconds):
                server.doubt(f"the replica lacks parts of {table}")
                server.is_silent = True
                return []
        return it.claims(first)

    def _claims_now(self, server: _Server, it: UpsertRows, first: int) -> tuple[list[Claim], int]:
        """Returns the claims from a tick on, and how many there are before. The horizon is read
        behind them: whatever was deleted by then lies before it."""
        claims = it.claims(first)
        server.horizon, server.horizon_ms = it.horizon()
        return claims, it.claims_before(first, server.horizon)

    def _look(self, server: _Server, it: UpsertRows) -> None:
        server.points, server.newest = it.settle_points(), it.newest()
        server.horizon, server.horizon_ms = it.horizon()

    # -- rows and ends

    async def _compare_batch(self, batch: _Batch, schema: TableSchema, *, has_memory: bool) -> None:
        batch.logs, batch.slices = await self._records.read(batch.ticks, schema)
        found = await self._each(lambda _, it: it.rows(batch.first, batch.last))
        rows: dict[int, StoredRow] = {}
        ids = {
            server: self._compare_rows(server, batch, some, rows) for server, some in found.items()
        }
        for server, own in ids.items():
            server.lacking |= rows.keys() - own
        await self._each(lambda server, it: self._compare_values(server, it, batch, schema))
        lanes = batch.ticks.lane_of
        before: dict[bytes, Version] = {}
        older = await self._each(lambda _, it: [*it.rows_before(batch.first, batch.last)])
        for row in (each for some in older.values() for each in some):
            if row.place in lanes:
                version = _version(row, lanes)
                before[row.key] = max(version, before.get(row.key, version))
        keyed = ((row.key, _version(row, lanes)) for row in rows.values())
        ends = [*expected_ends(keyed, before, lambda tick: self._since_order(batch, tick))]
        self._ended.update((each.row_id, each.tick) for each in ends)
        stored = await self._each(lambda server, it: self._ends_now(server, it, batch))
        for server, counts in stored.items():
            await self._compare_ends(server, batch, ends, counts, has_memory=has_memory)

    def _since_order(self, batch: _Batch, tick: int) -> int:
        newest = self._table.newest_column
        kind = self._table.columns[newest] if newest is not None else None
        return order_since(kind, self._shown_since_s(batch.ticks.claims[tick].time_ms))

    def _shown_since_s(self, time_ms: int) -> int:
        return shown_since_s(time_ms, self._table.retention_hours)

    def _ends_now(self, server: _Server, it: UpsertRows, batch: _Batch) -> Counter[RowEnd]:
        """Returns the ends of a batch. What was dropped by then lies before the horizon."""
        ends = it.ends(batch.first, batch.last)
        server.horizon, server.horizon_ms = it.horizon()
        return ends

    def _compare_rows(
        self,
        server: _Server,
        batch: _Batch,
        some: Sequence[StoredRow],
        all_rows: dict[int, StoredRow],
    ) -> set[int]:
        """Compares the rows of a server; adds those that are right to the rows of all servers.

        Returns their ids.
        """
        claims = [batch.ticks.claims[each] for each in range(batch.first, batch.last + 1)]
        dropped_s = self._shown_since_s(server.horizon_ms)
        of = compared_rows(
            batch.ticks,
            some,
            batch.logs,
            self._tick.rows_per_record,
            is_ordered_by_timestamp=self._table.newest_column is None,
            dropped_before_s=dropped_s,
            may_lack={
                each.tick for each in claims if self._shown_since_s(each.time_ms) < dropped_s
            },
        )
        count = server.rows
        count.expected += sum(each.rows for each in claims)
        count.found += len(some)
        count.missing += of.missing
        count.surplus += len(of.surplus)
        count.doubled += len(of.doubled)
        _name(count, "doubled: rows", of.doubled)
        for text in of.texts:
            count.example(text)
        if of.compacted:
            count.doubt(f"{of.compacted} rows of records that may be compacted away")
        if of.uncompared:
            count.doubt(f"{of.uncompared} rows of offsets at which a log was cut: only counted")
        deletes: list[Until] = []
        for row_id, row in of.right.items():
            if row.is_delete:
                deletes.append(Until(row_id, row.until, True, None))
            elif row.until != OPEN:
                server.settled[row_id] = row.until
            known = all_rows.setdefault(row_id, row)
            if known._replace(until=0) != row._replace(until=0):
                of.changed.append(row_id)
        of.changed += wrong_untils(deletes, (), batch.last)
        count.changed += len(of.changed)
        _name(count, "changed: rows", of.changed)
        return {*of.right}

    async def _compare_ends(
        self,
        server: _Server,
        batch: _Batch,
        expected: Sequence[RowEnd],
        found: Mapping[RowEnd, int],
        *,
        has_memory: bool,
    ) -> None:
        kept_from = (server.horizon + 1) // TICKS_PER_PARTITION * TICKS_PER_PARTITION
        expected = [each for each in expected if each.tick >= kept_from]
        found = {each: count for each, count in found.items() if each.tick >= kept_from}
        count = server.ends
        count.expected += len(expected)
        count.found += sum(found.values())
        in_tick = Counter(each.tick for each in found)
        others = found.keys() - {*expected}
        older = {it for each in others for it in (each.row_id, each.by_row_id)}
        dropped = await self._dropped(server, [*older])
        others = {it for it in others if not dropped.issuperset((it.row_id, it.by_row_id))}
        found = {it: count for it, count in found.items() if it in others or it in {*expected}}
        # The coordinator may know the newest row of a key after retention has dropped it.
        if keys := {each.key for each in others if each.by_row_id in dropped}:
            count.doubt(f"{len(keys)} keys, whose newest rows retention has dropped")
            for each in (it for it in expected if it.key in keys):
                self._ended.pop(each.row_id, None)
            self._ended.update((each.row_id, each.tick) for each in found if each.key in keys)
            expected = [each for each in expected if each.key not in keys]
            found = {each: number for each, number in found.items() if each.key not in keys}
        of = compared_ends(expected, found, has_memory=has_memory)
        surplus = [each for each in of.surplus if each not in dropped]
        count.missing += len(of.missing)
        count.surplus += len(surplus)
        count.doubled += len(of.doubled)
        count.changed += len(of.changed)
        for what, ids in (
            ("missing", of.missing),
            ("foreign", surplus),
            ("doubled", of.doubled),
            ("changed", of.changed),
        ):
            _name(count, f"{what}: ends of rows", ids)
        if of.maybe_repeated:
            _doubt_repeated(count, of.maybe_repeated)
        for tick in range(max(batch.first, kept_from), batch.last + 1):
            claimed = batch.ticks.claims[tick].events
            if claimed != in_tick[tick] and not (of.missing or surplus):
                count.changed += 1
                count.example(f"tick {tick} has {in_tick[tick]} ends, its claim {claimed}")

    async def _dropped(self, server: _Server, row_ids: Sequence[int]) -> set[int]:
        """Returns those of some rows, or of the first of many, that retention has dropped: they are
        not there, and neither are all rows of their tick."""
        ids = sorted(row_ids)[:IDS_MAX]
        ticks = {each >> ROW_BITS for each in ids}

        def ask(server: _Server, it: UpsertRows) -> set[int]:
            known, counts = it.known(ids), it.rows_of_ticks(ticks)
            claims = {each.tick: each.rows for each in it.claims(min(ticks)) if each.tick in ticks}
            short = {tick for tick, rows in claims.items() if counts.get(tick, 0) < rows}
            # A claim goes once rows of its age have gone.
            short |= {each for each in ticks if each not in claims and each < server.horizon}
            return {each for each in ids if each not in known and each >> ROW_BITS in short}

        return (await self._each(ask, only=server)).get(server, set()) if ids else set()

    def _compare_untils(self, server: _Server, it: UpsertRows, first: int, last: int) -> None:
        """Compares _until of all rows with the ends and the settle points."""
        untils = (
            Until(row_id, server.settled.get(row_id, OPEN), False, self._ended.get(row_id))
            for row_id in sorted({*server.settled, *self._ended} - server.lacking)
            if row_id >> ROW_BITS >= first
        )
        wrong = [*wrong_untils(untils, server.points, last)]
        count = server.rows
        count.changed += len(wrong)
        _name(count, "changed: _until of rows", wrong)
        point = server.points[-1] if server.points else 0
        for text, (number, least) in (
            ("ended and settled, and are open", it.open_ended(first, point)),
            ("are settled, and have no end", it.closed_endless(first, server.horizon, last)),
        ):
            if number:
                count.changed += number
                count.example(f"changed: {number} rows before tick {first} {text}, such as {least}")

    # -- values

    def _compare_values(
        self, server: _Server, it: UpsertRows, batch: _Batch, schema: TableSchema
    ) -> None:
        """Compares the columns of rows with what a second reader finds in the records."""
        own = user_schema(schema, self._table.name)
        stored = replace(own, table=schema.table)
        for number, slices in batch.slices.items():
            lane, log = self._tick.lanes[number], batch.logs[number]
            values = RowValues(own, reader_of(self._feed))
            expected = {
                (offset, at)
                for (offset, at), row in log.rows.items()
                if not row.is_bare and not batch.ticks.is_cut(number, offset)
            }
            rows = TopicInTable(it.client, it.database, stored, lane.cluster, lane.topic)
            for part in slices:
                bounds = LogRange(int(part.offset[0]), int(part.offset[-1]) + 1)
                values.compare(part, expected, list(rows.values(lane.partition, bounds)))
            server.rows.changed += len(values.differences)
            for offset, text in values.differences:
                where = f"{lane.topic}-{lane.partition}, offset {offset}"
                server.rows.example(f"changed: {where}: {text}")
            for text in values.doubts:
                server.rows.doubt(text)
        for text, number in it.derived(derivations(self._table), batch.first, batch.last):
            if number:
                server.rows.changed += number
                server.rows.example(f"changed: {number} rows of ticks from {batch.first}: {text}")

    # -- parts

    def _server(self, replica: Replica, names: Sequence[str]) -> _Server:
        address = replica.server.address
        name = f"{address.host}:{address.port}"
        ticks, rows, ends = (
            RowCount(self._home, self._feed.name, self._table.name, table, name) for table in names
        )
        return _Server(replica, name, ticks, rows, ends)

    async def _each(
        self, ask: Callable[[_Server, UpsertRows], T], *, only: _Server | None = None
    ) -> dict[_Server, T]:
        """Returns the answers of the servers that answer. One that fails is asked no more."""
        found: dict[_Server, T] = {}
        for server in [only] if only else self._servers:
            if server.is_silent:
                continue
            try:
                found[server] = await run_in_thread(self._asked, server, ask)
            except DRIVER_ERRORS as error:
                self._problems.append(f"ClickHouse at {server.name}: {reason(error)}")
                server.is_silent = True
                server.doubt("the replica did not answer")
        return found

    def _asked(self, server: _Server, ask: Callable[[_Server, UpsertRows], T]) -> T:
        with server.replica.connected() as it:
            rows = UpsertRows(
                it.client, self._store.database, self._table.name, self._tick.generation
            )
            return ask(server, rows)

    def _doubt(self, text: str) -> None:
        for server in self._servers:
            server.doubt(text)

    def _doubt_rows(self, text: str) -> None:
        for server in self._servers:
            server.rows.doubt(text)


def _batches(claims: Mapping[int, Claim], first: int, tick: Tick) -> Iterator[_Batch]:
    """Yields consecutive ticks whose claims are there, with that of the tick before them."""
    cuts = cut_offsets(claims, tick.stops)
    some: list[int] = []
    for number in sorted(each for each in claims if each >= first):
        if number > 1 and number - 1 not in claims:
            continue
        is_next = not some or number == some[-1] + 1
        if some and (not is_next or sum(claims[it].rows for it in some) >= BATCH_ROWS):
            yield _batch(claims, some, tick, cuts)
            some = []
        some.append(number)
    if some:
        yield _batch(claims, some, tick, cuts)


def _batch(
    claims: Mapping[int, Claim],
    some: Sequence[int],
    tick: Tick,
    cuts: Mapping[int, Sequence[range]],
) -> _Batch:
    of = [claims[each] for each in (some[0] - 1, *some) if each in claims]
    return _Batch(Ticks(of, some[0], tick.lanes, cuts), some[0], some[-1])


def _version(row: StoredRow, lanes: Mapping[tuple[str, str, int], int]) -> Version:
    return Version(row.order, lanes[row.place], row.offset, row.row, row.row_id, row.is_delete)


def _name(count: RowCount, what: str, numbers: Sequence[int]) -> None:
    if numbers:
        some = ", ".join(map(str, numbers[:EXAMPLES_MAX]))
        more = len(numbers) - EXAMPLES_MAX
        count.example(f"{what} {some}" + (f" and {more} more" if more > 0 else ""))


def _doubt_repeated(count: RowCount, numbers: Sequence[int]) -> None:
    count.doubt(
        f"{len(numbers)} are there twice, such as {numbers[0]}: a tick that was done again leaves "
        "that in a table that is not replicated, and readers count one"
    )
