"""The store's side of upsert tables on real replicas: levels, settling, and what queries see.

Rows and their ends come from the fold of random records; what a query sees is compared with the
largest record of each key.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from aggregator.store.shard_store import ShardStore
from aggregator.upsert.bootstrap import plan_bootstrap, read_slice
from aggregator.upsert.claims import TickRow, TickTable, What, settle_point
from aggregator.upsert.fold import KeyState, bootstrapped, fold
from aggregator.upsert.repeatable_insert import RepeatableInserts
from aggregator.upsert.row_ends import ends_table, read_ends
from aggregator.upsert.seen_rows import ReadMark, UpsertNames, rows_at
from aggregator.upsert.server_levels import ServerLevels, look_at_servers
from aggregator.upsert.settle_plan import settle_plan
from aggregator.upsert.settling import Settled, Settler, update_statement
from aggregator.upsert.table_creation import create_tables
from aggregator.upsert.tick import OPEN, ROW_BITS, Lane
from aggregator.upsert.tick_clock import ClockDiffers, TickClock
from aggregator.upsert.version import EndKind, RowEnd, Version
from deploy.lab.wait import until
from replicator.config.upsert_table import UpsertTable
from tests.live import clickhouse_codes as codes
from tests.live.replicas import ReplicatedDatabase, number_of
from tests.live.stored import store_of

pytestmark = pytest.mark.stores

TABLE = UpsertTable(
    name="accounts",
    semantic="upsert",
    columns={"id": "UInt64", "value": "Int64"},
    primary_key=("id",),
)
LANE = Lane("west aggregate", "accounts", UUID(int=1), 0)
DAY_S = 86_400
BEGIN_S = 20_000 * DAY_S
VISIBLE = """
SELECT id, value FROM accounts__rows WHERE _row_id < {born} AND _until > {mark} AND _row_id NOT IN (
    SELECT row_id FROM accounts__updates WHERE tick > {settled} AND tick <= {mark}
) ORDER BY id
"""


class Stopped(Exception):
    """End of a settler in the middle."""


def wait(seconds: float) -> None:
    until(lambda: False, seconds)


@dataclass
class Kept:
    """Upsert table on replicas, and all that it was told."""

    database: ReplicatedDatabase
    store: ShardStore
    ticks: TickTable
    inserts: RepeatableInserts
    records: list[tuple[int, Version, int]] = field(default_factory=list)
    states: dict[bytes, KeyState] = field(default_factory=dict)
    ends: dict[int, list[RowEnd]] = field(default_factory=dict)
    tick: int = 0
    others: list[ShardStore] = field(default_factory=list)
    servers: list[str] = field(default_factory=list)
    """Names of the replicas, by their numbers."""

    def __post_init__(self) -> None:
        self.servers = [self.database.replica_name(each, "accounts__rows") for each in range(3)]

    def settler(self, waiting=wait, unfinished_max: int = 20) -> Settler:
        return Settler(
            self.store,
            self.inserts,
            self.ticks,
            TABLE.name,
            wait=waiting,
            attempt_seconds=3.0,
            unfinished_max=unfinished_max,
        )

    def add_tick(self, versions: list[tuple[int, int, bool]], *, replica: int = 0, days: int = 1):
        """Adds a tick of records (key, order, whether it deletes): rows, ends and claim."""
        self.tick += 1
        rows, facts = [], []
        for number, (key, order, is_delete) in enumerate(versions):
            row_id = (self.tick << ROW_BITS) + number
            version = Version(order, 0, len(self.records), 0, row_id, is_delete)
            self.records.append((key, version, self.tick))
            facts.append((key.to_bytes(16, "big"), version))
            until_tick = self.tick if is_delete else OPEN
            rows.append(
                (
                    *(key, row_id, "west aggregate", "accounts", 0, version.offset, 0),
                    *(row_id, until_tick, int(is_delete), key.to_bytes(16, "big").decode()),
                    *(order, BEGIN_S + number % days * DAY_S),
                )
            )
        folded = fold(self.tick, facts, self.states)
        self.states |= folded.states
        self.ends[self.tick] = folded.ends
        if rows:
            code = self.database.insert(replica, "accounts__rows", rows, insert_quorum=2)
            assert code == codes.ACKED
        self.publish_tick(len(rows))

    def publish_tick(self, rows: int = 0, *, is_repeat: bool = False) -> None:
        events = self.ticks.insert_ends(
            self.tick, ends_table(self.ends[self.tick]), is_repeat=is_repeat
        )
        claim = TickRow(1, self.tick, What.CLAIM, self.tick * 1000, (len(self.records),), rows)
        self.ticks.publish(claim._replace(events=events), is_repeat=is_repeat)

    def taken_by(self, replica: int, directory) -> TickTable:
        """Returns the table of ticks as a process has it whose inserts go to another replica."""
        addresses = self.database.replicas.addresses()
        in_turn = [*addresses[replica:], *addresses[:replica]]
        store = store_of(in_turn, self.database.name, directory, quorum=2)
        self.others.append(store)
        inserts = RepeatableInserts(store, wait)
        return TickTable(store, inserts, feed="bank", table=TABLE.name, generation=1)

    def close(self) -> None:
        for store in (self.store, *self.others):
            store.close()

    def settle(self, settler: Settler | None = None, timeout_seconds: float = 20.0) -> Settled:
        claim = self.ticks.newest(What.CLAIM)
        plan = settle_plan(
            self.ticks.settle_points(),
            claim,
            self.servers,
            settle_seconds=1.0,
        )
        return (settler or self.settler()).settle(plan, timeout_seconds=timeout_seconds)

    def mutation(self) -> str:
        """Returns the statement of a settling at the newest tick."""
        ends = sum(map(len, self.ends.values()))
        return update_statement(self.database.name, "accounts", 0, self.tick, ends, 1)

    def expected(self, mark: int) -> list[tuple[int, int]]:
        """Returns what is seen at a mark by brute force: the newest row of each key."""
        newest: dict[int, Version] = {}
        for key, version, tick in self.records:
            if tick <= mark and (key not in newest or newest[key] < version):
                newest[key] = version
        return sorted((key, each.row_id) for key, each in newest.items() if not each.is_delete)

    def seen(self, replica: int, mark: int) -> list[tuple[int, int]]:
        """Returns what a query sees at a mark on a replica, by the settle points that it has."""
        settled = settle_point(self.ticks.settle_points(), mark, self.servers[replica])
        query = VISIBLE.format(born=(mark + 1) << ROW_BITS, mark=mark, settled=settled)
        with self.database.client(replica) as client:
            return client.execute(query)

    def view(self, replica: int) -> list[tuple[int, int]]:
        """Returns what the view of a replica shows once it knows the newest settle point."""
        self.catch_up(replica)
        with self.database.client(replica) as client:
            return client.execute("SELECT id, value FROM accounts ORDER BY id")

    def catch_up(self, replica: int, *tables: str) -> None:
        for table in tables or ("accounts__ticks",):
            self.database.order(replica, f"SYSTEM SYNC REPLICA {self.database.name}.{table}")

    def bootstrapped(self) -> dict[bytes, KeyState]:
        """Returns the newest row of each key as a bootstrap at the newest tick finds it."""
        plan = plan_bootstrap(
            self.store,
            TABLE.name,
            self.ticks.newest(What.CLAIM),
            [LANE],
            retention_hours=336,
            tasks=5,
            wait=wait,
        )
        assert len(plan.slices) > 5
        rows = [
            (each.pop("key"), Version(**{name: each[name] for name in Version._fields}))
            for which in plan.slices
            for batch in read_slice(self.store, plan, which, wait=wait)
            for each in batch.to_pylist()
        ]
        return {key: state[:1] for key, state in bootstrapped(rows).items()}

    def shown_by_view(self, replica: int) -> int:
        return settle_point(self.ticks.settle_points(), self.tick, self.servers[replica])


def numbers(settled: Settled) -> list[int]:
    """Returns the numbers of the replicas that have the settle point."""
    return [number_of(each) for each in settled.servers]


def kept_in(database: ReplicatedDatabase, directory) -> Kept:
    store = store_of(
        database.replicas.addresses(), database.name, directory, quorum=2, insert_seconds=10.0
    )
    assert create_tables(store, TABLE).is_whole
    inserts = RepeatableInserts(store, wait)
    ticks = TickTable(store, inserts, feed="bank", table=TABLE.name, generation=1)
    return Kept(database, store, ticks, inserts)


@pytest.fixture
def kept(replicated_database, tmp_path) -> Iterator[Kept]:
    it = kept_in(replicated_database, tmp_path)
    yield it
    it.close()


def versions(dice: random.Random, count: int) -> list[tuple[int, int, bool]]:
    return [(dice.randrange(8), dice.randrange(30), dice.random() < 0.2) for _ in range(count)]


def test_each_server_shows_the_newest_row_of_each_key_at_each_mark_however_settling_ends(kept):
    dice = random.Random(39)

    def dies(seconds: float) -> None:
        raise Stopped

    for _ in range(6):
        kept.add_tick(versions(dice, 12), replica=dice.randrange(3), days=3)
        match dice.randrange(4):
            case 0:
                kept.settle()
            case 1:  # dies once the mutation is made
                with suppress(Stopped):
                    kept.settle(kept.settler(dies))
            case 2:  # another settler is ahead, and dies before it publishes
                kept.database.order(1, kept.mutation())
    kept.add_tick(versions(dice, 12), days=3)
    kept.settle()
    kept.add_tick(versions(dice, 12), days=3)
    for replica in range(3):
        kept.catch_up(replica, "accounts__rows", "accounts__updates")
        for mark in range(kept.tick + 1):
            assert kept.seen(replica, mark) == kept.expected(mark)
        assert kept.shown_by_view(replica) == kept.tick - 1
        assert kept.view(replica) == kept.expected(kept.tick - 1)
    assert kept.bootstrapped() == {key: state[:1] for key, state in kept.states.items()}


def test_a_last_part_that_mutations_leave_out_is_settled_all_the_same(kept):
    """18.16 neither merges nor mutates the last part of a quorum insert in a partition."""
    kept.add_tick([(1, 1, False), (2, 1, False)])
    kept.add_tick([(1, 2, False), (1, 3, False)])
    kept.database.order(0, kept.mutation())
    unsettled = "SELECT count() FROM accounts__rows WHERE _until > 2 AND _row_id IN "
    unsettled += "(SELECT row_id FROM accounts__updates)"
    assert until(lambda: kept.database.ask(0, unsettled) == 1, 20)
    settled = kept.settle()
    assert settled.pushed == 1
    assert settled.is_published and numbers(settled) == [0, 1, 2]
    assert [kept.database.ask(replica, unsettled) for replica in range(3)] == [0, 0, 0]
    assert kept.view(1) == kept.expected(2)
    mark = ReadMark(tick=2, settled=2, known=2, is_all_versions=True)
    versions = f"SELECT count() FROM ({rows_at(UpsertNames('accounts', ('id',)), mark)})"
    assert kept.database.ask(0, versions) == 4
    assert kept.database.ask(0, "SELECT count() FROM accounts__rows") == 4 + settled.pushed


def test_mutations_do_not_pile_up_before_the_last_parts_of_quiet_days(kept):
    kept.add_tick([(key, 1, False) for key in range(3)], days=3)
    unfinished = "SELECT count() FROM system.mutations WHERE parts_to_do > 0 "
    unfinished += "AND database = currentDatabase()"
    for value in range(2, 5):
        kept.add_tick([(0, value, False)])
        assert kept.settle(kept.settler(unfinished_max=2)).is_published
    assert until(lambda: kept.database.ask(0, unfinished) <= 2, 20)
    assert kept.view(2) == kept.expected(4)


def test_a_server_that_lacks_ends_is_behind_although_it_answers_and_returns_by_itself(
    kept, tmp_path
):
    def look() -> tuple[int | None, int]:
        claim = kept.ticks.newest(What.CLAIM)
        mark = levels.take(claim.tick, *look_at_servers(kept.store, "accounts"), float(kept.tick))
        return mark.tick, len(mark.servers)

    levels = ServerLevels(lag_seconds_max=2.5)
    kept.add_tick([(1, 1, False), (2, 1, False)])
    kept.add_tick([(1, 2, False)])
    assert until(lambda: look() == (2, 3), 20)
    kept.settle()
    wake = [(0, 0, 0, "late", 0, 0, "x" * 16)]
    with kept.database.no_fetches("accounts__updates", 2, wake=wake):
        kept.add_tick([(1, 3, False)])
        kept.ticks, before = kept.taken_by(2, tmp_path), kept.ticks
        kept.add_tick([(2, 3, False)])
        kept.ticks = before
        # The last part is there, the one before is not: 18.16 answers without it.
        ends = "SELECT count() FROM accounts__updates WHERE tick > 2"
        assert kept.database.ask(2, ends, select_sequential_consistency=1) == 1
        assert look() == (2, 3)
        settled = kept.settle()
        assert settled.is_published and numbers(settled) == [0, 1]
        assert [kept.shown_by_view(replica) for replica in range(3)] == [4, 4, 2]
        assert [kept.view(replica) for replica in range(3)] == [
            kept.expected(4), kept.expected(4), kept.expected(2)
        ]  # fmt: skip
        for _ in range(3):
            kept.add_tick([])
            look()
        assert look() == (7, 2)
    assert until(lambda: look() == (7, 3), 20)
    assert numbers(kept.settle()) == [0, 1, 2]
    assert kept.view(2) == kept.expected(7)


def test_tables_that_are_made_anew_on_a_server_show_nothing_until_they_are_counted(kept):
    """They begin with the parts of another replica, which need not have what theirs had."""
    kept.add_tick([(key, 1, False) for key in range(3)])
    kept.add_tick([(1, 2, False)])
    assert numbers(kept.settle()) == [0, 1, 2]
    for name in ("accounts", "accounts__rows", "accounts__updates", "accounts__ticks"):
        kept.database.order(2, f"DROP TABLE {name}")
    assert create_tables(kept.store, TABLE).is_whole
    rows = "SELECT count() FROM accounts__rows"
    assert until(lambda: kept.database.ask(2, rows) > 0, 30)
    assert kept.view(2) == []
    kept.servers[2] = kept.database.replica_name(2, "accounts__rows")
    assert until(lambda: numbers(kept.settle()) == [0, 1, 2], 60)
    assert [kept.view(replica) for replica in range(3)] == [kept.expected(2)] * 3


def test_ends_and_claims_that_are_sent_again_to_another_server_are_there_once(kept, tmp_path):
    kept.add_tick([(1, 1, False), (2, 1, False)])
    kept.add_tick([(1, 2, False), (2, 0, False)])
    for replica in range(3):
        kept.ticks = kept.taken_by(replica, tmp_path)
        kept.publish_tick(2, is_repeat=True)
    assert kept.database.counts("accounts__updates") == [2, 2, 2]
    assert kept.database.counts("accounts__ticks") == [2, 2, 2]
    with kept.database.client(1) as client:
        ends = list(read_ends(client, kept.database.name, "accounts", after=0, up_to=2))
        assert ends == kept.ends[2]
        assert not list(
            read_ends(client, kept.database.name, "accounts", after=0, up_to=2, lanes=[1])
        )
    assert [claim.events for claim in kept.ticks.claims(1, 2)] == [0, 2]


def test_rows_and_ends_of_a_tick_that_is_not_claimed_are_known_if_one_server_has_them(kept):
    assert kept.ticks.newest_stored() == 0
    kept.add_tick([(1, 1, False)])
    assert kept.ticks.newest_stored() == 1
    for replica in (0, 1):
        kept.database.order(replica, "SYSTEM STOP FETCHES accounts__rows")
    row = (2, 3 << ROW_BITS, "west aggregate", "accounts", 0, 1, 0)
    row += (3 << ROW_BITS, OPEN, 0, "k" * 16, 1, BEGIN_S)
    assert kept.database.insert(2, "accounts__rows", [row]) == codes.ACKED
    assert kept.ticks.newest_stored() == 3
    end = RowEnd(1 << ROW_BITS, 0, 0, EndKind.SUPERSEDED, 4, 4 << ROW_BITS, bytes(16))
    kept.ticks.insert_ends(4, ends_table([end]), is_repeat=False)
    assert kept.ticks.newest_stored() == 4
    for replica in (0, 1):
        kept.database.order(replica, "SYSTEM START FETCHES accounts__rows")


def test_a_server_that_is_killed_or_hangs_holds_nothing_up_and_is_settled_once_it_is_back(
    own_replicas, tmp_path
):
    kept = kept_in(ReplicatedDatabase(own_replicas, "default"), tmp_path)
    kept.add_tick([(key, 1, False) for key in range(50)], days=2)
    kept.add_tick([(key, 2, key % 3 == 0) for key in range(50)], days=2)

    def kills(seconds: float) -> None:
        if own_replicas[0].process.is_running():
            own_replicas[0].kill()
        wait(seconds)

    settled = kept.settle(kept.settler(kills), timeout_seconds=30.0)
    assert settled.is_published and {1, 2} <= set(numbers(settled))
    own_replicas[0].start()
    own_replicas[0].wait_ready()
    kept.database.wait_writable()
    kept.add_tick([(1, 3, False)], replica=1)
    assert until(lambda: numbers(kept.settle(timeout_seconds=30.0)) == [0, 1, 2], 30)
    for replica in range(3):
        assert kept.view(replica) == kept.expected(3)
    own_replicas[1].pause()
    kept.add_tick([(1, 4, False)], replica=0)
    assert numbers(kept.settle(timeout_seconds=20.0)) == [0, 2]
    own_replicas[1].resume()
    kept.close()


def test_a_clock_that_no_server_agrees_with_gives_no_time_until_it_is_set_right(kept):
    ahead = 0.0
    clock = TickClock(kept.store, 3600.0, wall=lambda: time.time() + ahead)
    for ahead in (40 * DAY_S, -2 * 3600, 0, 2 * 3600, -40 * DAY_S, 1800):
        if abs(ahead) > 3600:
            with pytest.raises(ClockDiffers, match="set the clock that is wrong"):
                clock.now_ms()
        else:
            assert abs(clock.now_ms() / 1000 - time.time() - ahead) < 60
