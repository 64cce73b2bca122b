"""`sluice verify check --rows` of an upsert table: silent when all is right, and speaking when a
claim, a row or an end is removed, doubled, changed or foreign.

The table is kept on three replicas by the parts of the coordinator, once. Each case looks at a copy
of its tables in which one thing differs.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import NewTopic

from aggregator.tables.table_schema import COORDINATES
from aggregator.upsert.claims import TickRow, TickTable, What
from aggregator.upsert.fold import KeyState, fold
from aggregator.upsert.repeatable_insert import RepeatableInserts
from aggregator.upsert.row_ends import ends_table
from aggregator.upsert.settle_plan import settle_plan
from aggregator.upsert.settling import Settler
from aggregator.upsert.table_creation import create_tables
from aggregator.upsert.table_names import UPSERT_COLUMNS
from aggregator.upsert.tick import Tick
from aggregator.upsert.tick_store import TickStore
from aggregator.upsert.upsert_schema import TICKS_COLUMNS, UPDATES_COLUMNS
from aggregator.upsert.version import Version
from aggregator.verifier.check import Check
from aggregator.verifier.row_check import RowCount
from aggregator.verifier.tick_rules import TickEntry
from aggregator.verifier.upsert_check import UpsertCheck
from deploy.lab.traffic import TrafficRecord
from deploy.lab.wait import until
from replicator.config.names import PLAN_TOPIC, upsert_group, upsert_id
from replicator.config.topology import Appliance
from replicator.kafka.client.cluster import Cluster
from tests.aggregator.verifier.ticks import long_tick
from tests.live.replicas import ReplicatedDatabase, new_database
from tests.live.row_ground import COLUMNS, TABLE, RowGround

pytestmark = pytest.mark.stores

KEPT = 'newest_column = "at"\nempty_value_deletes = true'
TIMEOUT_SECONDS = 10.0


def wait(seconds: float) -> None:
    until(lambda: False, seconds)


def record(number: int, key: int, at_s: int, text: str = "text") -> TrafficRecord:
    value = json.dumps({"id": key, "text": text, "at": at_s}).encode()
    return TrafficRecord(number % 2, str(key).encode(), value)


def delete(key: int) -> TrafficRecord:
    return TrafficRecord(key % 2, str(key).encode(), None)


@dataclass
class Kept:
    """Upsert table that is kept without a coordinator's process, tick by tick."""

    ground: RowGround
    store_ticks: TickTable
    settler: Settler
    states: dict[bytes, KeyState] = field(default_factory=dict)
    claims: list[TickRow] = field(default_factory=list)
    last: Tick | None = None

    @property
    def appliance(self) -> Appliance:
        return self.ground.appliance

    def tick(self, west: list[TrafficRecord], east: list[TrafficRecord], *, is_claimed=True):
        """Takes records as the next tick: cut, rows, fold, ends, claim."""
        self.ground.send(True, west)
        self.ground.send(False, east)
        tick = self.ground.tick()
        asyncio.run(self.commit(tick))
        self.last = tick
        facts = self.ground.done(self.ground.task(tick))
        rows = [
            (each["key"], Version(*(each[name] for name in Version._fields))) for each in facts.rows
        ]
        folded = fold(tick.number, rows, self.states)
        self.states |= folded.states
        if is_claimed:
            events = self.store_ticks.insert_ends(
                tick.number, ends_table(folded.ends), is_repeat=False
            )
            claim = TickRow(
                1,
                tick.number,
                What.CLAIM,
                tick.time_ms,
                tick.ends,
                len(rows),
                events,
                sum(each.expired for each in facts.notes),
                sum(len(each.letters) for each in facts.notes),
            )
            self.store_ticks.publish(claim)
            self.claims.append(claim)

    def settle(self) -> None:
        database = self.ground.database
        servers = [
            database.replica_name(each, f"{TABLE}__rows") for each in range(len(database.replicas))
        ]
        plan = settle_plan([], self.claims[-1], servers, settle_seconds=1.0)
        assert plan and self.settler.settle(plan, timeout_seconds=30.0).is_published

    async def commit(self, tick: Tick) -> None:
        region = self.appliance.region("west")
        cluster = Cluster("west regional", region.regional)
        await cluster.open([PLAN_TOPIC])
        store = TickStore(cluster, "shop", TABLE)
        await store.commit(await store.open(), tick)
        await cluster.close()


def kept_table(directory: Path, clusters, database: ReplicatedDatabase) -> Iterator[Kept]:
    with suppress(KafkaException, RuntimeError):  # another test may have made it
        clusters[0].create_topics(NewTopic(PLAN_TOPIC, 1))
    ground = RowGround(directory, clusters, database, settings=KEPT)
    worker = ground.worker
    assert create_tables(worker.store, worker.table).is_whole
    inserts = RepeatableInserts(worker.store, wait)
    ticks = TickTable(worker.store, inserts, feed="shop", table=TABLE, generation=1)
    kept = Kept(ground, ticks, Settler(worker.store, inserts, ticks, TABLE, wait=wait))
    now_s = int(time.time()) - 600
    some = range(30)
    kept.tick([record(it, it, now_s) for it in some], [record(it, it + 5, now_s) for it in some])
    kept.tick(
        [record(it, it, now_s - it % 3 + 1) for it in some],
        [record(0, 3, now_s + 9), delete(4), record(0, 7, now_s - 3_000_000)],
    )
    kept.settle()
    kept.tick([], [])
    kept.tick(
        [record(1, 4, now_s + 5), record(1, 3, now_s + 3)],
        [record(0, 7, now_s + 9), TrafficRecord(0, b"8", b"no document")],
    )
    yield kept
    ground.close()


@pytest.fixture(scope="module")
def kept(clusters, shared_replicas, tmp_path_factory) -> Iterator[Kept]:
    with new_database(shared_replicas) as database:
        yield from kept_table(tmp_path_factory.mktemp("upsert-check"), clusters, database)


def spoken(counts: tuple[RowCount, ...]) -> dict[str, set[str]]:
    """Returns what differs, by the table."""
    found: dict[str, set[str]] = {}
    for each in counts:
        names = {
            name
            for name in ("missing", "surplus", "doubled", "changed", "doubts")
            if getattr(each, name)
        }
        if names:
            found.setdefault(each.table.removeprefix(TABLE), set()).update(names)
    return found


def checked(kept: Kept, appliance: Appliance, since_ms: int = 0) -> tuple[RowCount, ...]:
    feed = appliance.feed("shop")
    entry = TickEntry(kept.last, upsert_id("shop", TABLE))
    check = UpsertCheck(appliance, feed, feed.tables[TABLE], entry, since_ms, TIMEOUT_SECONDS)
    result = check.run()
    assert not result.problems
    return result.counts


def test_a_table_that_is_right_is_silent_on_each_replica(kept):
    found = Check(kept.appliance, "west", 0, TIMEOUT_SECONDS, with_rows=True).run()
    of_table = [each for each in found.rows if each.owner == f"table shop.{TABLE}"]
    assert [(each.partitions, each.entries) for each in of_table] == [(1, 4)]
    assert not [each for each in found.judgements if each.subject.owner == f"table shop.{TABLE}"]
    counts = [each for each in found.row_counts if each.feed == "shop"]
    assert spoken(counts) == {}, [each.examples + each.doubts for each in counts]
    rows = [each for each in counts if each.table == f"{TABLE}__rows"]
    assert [each.found for each in rows] == [sum(each.rows for each in kept.claims)] * 3
    ends = [each for each in counts if each.table == f"{TABLE}__updates"]
    assert [each.found for each in ends] == [sum(each.events for each in kept.claims)] * 3
    assert all(each.events for each in kept.claims[:2])
    assert sum(each.expired for each in kept.claims) == 1
    assert sum(each.letters for each in kept.claims) == 1


def test_ticks_before_the_time_asked_for_are_known_from_the_store(kept):
    found = checked(kept, kept.appliance, kept.claims[3].time_ms)
    assert spoken(found) == {}, [each.examples + each.doubts for each in found]
    rows = [each.expected for each in found if each.table == f"{TABLE}__rows"]
    assert rows == [kept.claims[3].rows] * 3


ROWS, ENDS, CLAIMS = "__rows", "__updates", "__ticks"
COPIED = {
    ROWS: ({**COLUMNS, **COORDINATES, **UPSERT_COLUMNS}, "(id, _row_id)"),
    ENDS: (UPDATES_COLUMNS, "(tick, row_id)"),
    CLAIMS: (TICKS_COLUMNS, "(what, generation, tick)"),
}


class Copy(NamedTuple):
    """Rows of a table that a case takes, with other values of some columns."""

    where: str = "1"
    other: Mapping[str, str] = {}


ALL = Copy()
TICK_1 = "intDiv(_row_id, 4294967296) = 1"
TICK_2 = "intDiv(_row_id, 4294967296) = 2"
A_ROW = f"_row_id = (SELECT max(_row_id) FROM {{rows}} WHERE {TICK_2} AND NOT _deleted)"
AN_END = "row_id = (SELECT min(row_id) FROM {updates} WHERE tick = 2)"
ENDED = "_row_id = (SELECT min(row_id) FROM {updates} WHERE tick = 2)"
A_CLAIM = "what = 'claim' AND tick = 2"


def changed(where: str, column: str, value: str) -> tuple[Copy, ...]:
    """Returns all rows, of which some have another value of a column."""
    return Copy(f"NOT ({where})"), Copy(where, {column: value})


CASES = {
    "row removed": (ROWS, [Copy(f"NOT ({A_ROW})")], {ROWS: {"missing"}}),
    "row doubled": (ROWS, [ALL, Copy(A_ROW)], {ROWS: {"doubled"}}),
    "row of another tick": (
        ROWS,
        [ALL, Copy(A_ROW, {"_row_id": "_row_id + 8589934592"})],
        {ROWS: {"surplus"}},
    ),
    "row of a tick that was not cut": (
        ROWS,
        [ALL, Copy(A_ROW, {"_row_id": "_row_id + 400000000000"})],
        {ROWS: {"surplus"}},
    ),
    "value changed": (ROWS, changed(A_ROW, "text", "'other'"), {ROWS: {"changed"}}),
    "key changed": (
        ROWS,
        changed(A_ROW, "_key", "toFixedString('k', 16)"),
        {ROWS: {"changed"}},
    ),
    "delete unmarked": (ROWS, changed("_deleted", "_deleted", "toUInt8(0)"), {ROWS: {"changed"}}),
    "settled row open": (ROWS, changed(ENDED, "_until", "4294967295"), {ROWS: {"changed"}}),
    "open row settled": (
        ROWS,
        changed("intDiv(_row_id, 4294967296) = 4", "_until", "4"),
        {ROWS: {"changed"}},
    ),
    "end removed": (ENDS, [Copy(f"NOT ({AN_END})")], {ENDS: {"missing"}}),
    "end doubled": (ENDS, [ALL, Copy(AN_END)], {ENDS: {"doubled"}}),
    "end of an open row": (
        ENDS,
        [ALL, Copy("tick = 4 AND kind = 'superseded'", {"row_id": "by_row_id"})],
        {ENDS: {"surplus"}},
    ),
    "end by another row": (
        ENDS,
        changed(AN_END, "by_row_id", "by_row_id + 1"),
        {ENDS: {"changed"}},
    ),
    "claim removed": (
        CLAIMS,
        [Copy(f"NOT ({A_CLAIM})")],
        {CLAIMS: {"missing"}, ROWS: {"doubts"}},
    ),
    "claim doubled": (CLAIMS, [ALL, Copy(A_CLAIM)], {CLAIMS: {"doubts"}}),
    "claim of another generation": (
        CLAIMS,
        [ALL, Copy(A_CLAIM, {"generation": "toUInt32(2)"})],
        {CLAIMS: {"surplus"}},
    ),
    "claim of no tick": (
        CLAIMS,
        [ALL, Copy("what = 'claim' AND tick = 4", {"tick": "toUInt32(5)"})],
        {CLAIMS: {"surplus"}},
    ),
    "nothing": (CLAIMS, [ALL], {}),
}


CASCADES = ("row removed", "key changed", "delete unmarked")
"""Cases in which ends differ too, as those that are right follow from the rows."""


@contextmanager
def copied(kept: Kept, suffix: str, copies: Sequence[Copy]) -> Iterator[Appliance]:
    """Yields the configuration of a copy on the first replica, whose tables are not replicated."""
    database, of = f"case_{uuid.uuid4().hex[:8]}", kept.ground.database
    names = {each[2:]: f"{of.name}.{TABLE}{each}" for each in COPIED}
    with of.client() as client:
        client.execute(f"CREATE DATABASE {database}")
        for each, (columns, order) in COPIED.items():
            table = f"{database}.{TABLE}{each}"
            listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
            client.execute(f"CREATE TABLE {table} ({listed}) ENGINE = MergeTree ORDER BY {order}")
            for copy in copies if each == suffix else [ALL]:
                # The server has no name among replicas.
                values = {"servers": "['']", **copy.other} if each == CLAIMS else copy.other
                picked = ", ".join(values.get(name, name) for name in columns)
                query = f"INSERT INTO {table} SELECT {picked} FROM {names[each[2:]]} WHERE {{}}"
                client.execute(query.format(copy.where.format(**names)))
    yield moved(kept.appliance, database)
    of.order(0, f"DROP DATABASE {database}")


@pytest.mark.parametrize("case", CASES)
def test_what_is_removed_doubled_changed_or_foreign_speaks(kept, case):
    suffix, copies, expected = CASES[case]
    with copied(kept, suffix, copies) as appliance:
        found = checked(kept, appliance)
    speaks = spoken(found)
    if case in CASCADES:
        assert expected[ROWS] <= speaks[ROWS]
    else:
        assert speaks == expected, [each.examples + each.doubts for each in found]


def test_ends_of_rows_that_retention_has_dropped_are_right(kept):
    since_ms = kept.claims[1].time_ms
    with copied(kept, ROWS, [Copy(f"NOT ({ENDED})")]) as appliance:
        found = checked(kept, appliance, since_ms)
    assert spoken(found) == {}, [each.examples + each.doubts for each in found]
    with copied(kept, ROWS, [Copy(f"NOT ({TICK_1})")]) as appliance:
        found = checked(kept, appliance, since_ms)
    assert spoken(found) == {ENDS: {"doubts"}}, "the newest rows of some keys are gone too"
    foreign = [ALL, Copy(AN_END, {"row_id": "toUInt64(4294967296 * 2 + 4000)"})]
    with copied(kept, ENDS, foreign) as appliance:
        assert spoken(checked(kept, appliance, since_ms)) == {ENDS: {"surplus"}}


@pytest.mark.parametrize(
    ("where", "value"),
    [(ENDED, "4294967295"), (f"NOT _deleted AND {TICK_1} AND _until > 3", "toUInt32(3)")],
    ids=["open", "settled"],
)
def test_until_of_rows_before_the_time_asked_for_is_compared_too(kept, where, value):
    with copied(kept, ROWS, changed(where, "_until", value)) as appliance:
        found = checked(kept, appliance, kept.claims[3].time_ms)
    assert spoken(found) == {ROWS: {"changed"}}


def moved(appliance: Appliance, database: str) -> Appliance:
    """Returns the configuration of a table that is in another database, on the first replica."""
    feed = appliance.feed("shop")
    shard = feed.shards[0].model_copy(
        update={"database": database, "replicas": feed.shards[0].replicas[:1], "quorum": 0}
    )
    other = feed.model_copy(update={"shards": (shard,)})
    return appliance.model_copy(update={"feeds": {**appliance.feeds, "shop": other}})


def test_a_table_is_silent_while_it_is_kept(kept):
    """Claims, rows and ends of the ticks that come meanwhile are neither missing nor foreign."""
    now_s = int(time.time())
    with ThreadPoolExecutor(1) as thread:
        keeping = thread.submit(keep_on, kept, now_s)
        checks = 0
        while not keeping.done() or not checks:
            found = checked(kept, kept.appliance)
            assert spoken(found) == {}, [each.examples + each.doubts for each in found]
            checks += 1
        keeping.result()
    assert checks > 1
    kept.tick([record(0, 1, now_s + 20)], [], is_claimed=False)
    found = checked(kept, kept.appliance)
    assert spoken(found) == {}, "rows of a tick that is not claimed yet are not compared"


def keep_on(kept: Kept, now_s: int) -> None:
    for number in range(4):
        kept.tick(
            [record(it, it % 4, now_s + number - it % 2) for it in range(8)], [delete(number)]
        )
        if number == 1:
            kept.settle()


def test_a_part_of_the_tick_that_was_deleted_speaks(kept):
    admin = kept.ground.clusters[0].admin()
    for each in admin.delete_consumer_groups([upsert_group("shop", TABLE, 0)]).values():
        each.result(30)
    only = [f"table shop.{TABLE}"]
    found = Check(kept.appliance, "west", 0, TIMEOUT_SECONDS, with_rows=True, only=only).run()
    assert [str(it.kind) for each in found.judgements for it in each.findings] == ["vanished"]
    assert spoken(found.row_counts) == {CLAIMS: {"surplus"}, ROWS: {"surplus"}}
    assert found.has_anomaly and not found.problems


def test_a_tick_in_several_groups_is_read_from_all_of_their_logs(kept):
    only, begin_ms = [f"table shop.{TABLE}"], time.time_ns() // 1_000_000
    for number in (1, 2):
        asyncio.run(kept.commit(long_tick(number)))

    def judged() -> tuple[int | None, list[str]]:
        found = Check(kept.appliance, "west", begin_ms, TIMEOUT_SECONDS, only=only).run()
        kinds = [str(it.kind) for each in found.judgements for it in each.findings]
        assert not found.problems
        return found.rows[0].entries, kinds

    assert judged() == (2, [])
    admin = kept.ground.clusters[0].admin()
    for each in admin.delete_consumer_groups([upsert_group("shop", TABLE, 1)]).values():
        each.result(30)
    assert judged() == (2, ["unreadable"])
