"""Days of an upsert table that are over: servers drop them one by one, and answer alike."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aggregator.store.shard_store import ShardStore
from aggregator.upsert.bootstrap import plan_bootstrap, read_slice
from aggregator.upsert.claims import TickRow, TickTable, What
from aggregator.upsert.expired_days import drop_expired_days
from aggregator.upsert.query_mark import SETTLED, At
from aggregator.upsert.reader import Reader, UpsertPlace
from aggregator.upsert.repeatable_insert import RepeatableInserts
from aggregator.upsert.seen_rows import UpsertNames
from aggregator.upsert.table_creation import create_tables
from aggregator.upsert.tick import OPEN, ROW_BITS
from deploy.lab.clickhouse import READER
from deploy.lab.credentials import PASSWORD
from deploy.lab.wait import until
from replicator.config.clickhouse_address import ClickHouseAddress
from replicator.config.upsert_table import UpsertTable
from tests.live import clickhouse_codes as codes
from tests.live.replicas import ReplicatedDatabase
from tests.live.stored import store_of
from tests.live.test_upsert_store import LANE, wait

pytestmark = pytest.mark.stores

TABLE = UpsertTable(
    name="calls",
    semantic="upsert",
    columns={"id": "UInt64", "value": "Int64"},
    primary_key=("id",),
    retention_hours=24.0,
)
DAY_S = 86_400
FIRST_DAY = 20_000
DAYS = 4


class Calls:
    """Table with a row of a key of its own for each day, in a tick at the end of the day."""

    def __init__(self, database: ReplicatedDatabase, store: ShardStore) -> None:
        self.database, self.store = database, store
        inserts = RepeatableInserts(store, wait)
        self.ticks = TickTable(store, inserts, feed="f", table="calls", generation=1)
        for number in range(DAYS):
            self.add(number)

    def add(self, number: int) -> None:
        tick, time_s = number + 1, (FIRST_DAY + number) * DAY_S + 10
        row_id = tick << ROW_BITS
        row = (number, number, "west aggregate", "accounts", 0, number, 0, row_id, OPEN, 0)
        whole = (*row, f"{number:016}", time_s * 1000, time_s)
        assert self.database.insert(0, "calls__rows", [whole], insert_quorum=2) == codes.ACKED
        claim = TickRow(1, tick, What.CLAIM, self.time_ms(tick), (number + 1,), 1)
        self.ticks.publish(claim)
        servers = tuple(self.database.replica_name(each, "calls__rows") for each in range(3))
        settled = claim._replace(what=What.SETTLED, ends=(), rows=0, servers=servers)
        self.ticks.publish(settled)

    def time_ms(self, tick: int) -> int:
        return (FIRST_DAY + tick) * DAY_S * 1000

    def answers(self, at: At, *, all_versions: bool = False) -> list[list[int]]:
        """Returns the keys that each replica shows to a user that only reads."""
        names = {"calls": UpsertNames("calls", ("id", "value"), ("id",))}
        found = []
        for address in self.database.replicas.addresses():
            place = UpsertPlace(
                feed="f",
                database=self.database.name,
                servers=(ClickHouseAddress.parse(address),),
                ca_file=None,
                tables=names,
                history_seconds={"calls": 7 * DAY_S},
                retention_hours={"calls": TABLE.retention_hours},
            )
            reader = Reader([place], user=READER, password=PASSWORD, timeout_seconds=20.0)
            with reader.query("SELECT id FROM calls", at, all_versions=all_versions) as answer:
                found.append(sorted(key for (key, *_) in answer))
        return found

    def assert_alike(self, horizon: int) -> None:
        """Compares what each replica shows at each mark from the horizon on."""
        for mark in range(horizon, DAYS + 1):
            # A tick at the end of a day admits and shows rows of that day and the one before.
            keys = [key for key in range(DAYS) if mark - 2 < key < mark]
            for is_all in (False, True):
                assert self.answers(At(tick=mark), all_versions=is_all) == [keys] * 3
        assert self.answers(At()) == self.answers(SETTLED) == [[DAYS - 1]] * 3
        for replica in range(3):
            with self.database.client(replica) as client:
                assert client.execute("SELECT id FROM calls") == [(DAYS - 1,)]

    def days(self) -> list[int]:
        """Returns the number of days that each replica has."""
        days = "SELECT uniqExact(partition_id) FROM system.parts WHERE active AND "
        days += "database = currentDatabase() AND table = 'calls__rows'"
        return [self.database.ask(replica, days) for replica in range(3)]

    def drop(self, horizon: int) -> tuple[int, ...]:
        return drop_expired_days(
            self.store,
            "calls",
            horizon_time_ms=self.time_ms(horizon),
            retention_hours=TABLE.retention_hours,
        ).dropped

    def bootstrapped(self) -> set[int]:
        """Returns the offsets of the rows that the state has at the newest tick."""
        claim = self.ticks.newest(What.CLAIM)
        assert claim
        hours = TABLE.retention_hours
        plan = plan_bootstrap(
            self.store, "calls", claim, [LANE], retention_hours=hours, tasks=2, wait=wait
        )
        return {
            row["offset"]
            for which in plan.slices
            for batch in read_slice(self.store, plan, which, wait=wait)
            for row in batch.to_pylist()
        }


@pytest.fixture
def calls(replicated_database: ReplicatedDatabase, tmp_path) -> Iterator[Calls]:
    addresses = replicated_database.replicas.addresses()
    store = store_of(addresses, replicated_database.name, tmp_path, quorum=2, insert_seconds=10.0)
    assert create_tables(store, TABLE).is_whole
    yield Calls(replicated_database, store)
    store.close()


def test_a_server_that_dropped_days_and_one_that_has_not_answer_alike_at_every_mark(calls):
    for replica in range(3):
        calls.database.order(replica, f"SYSTEM SYNC REPLICA {calls.database.name}.calls__rows")
    calls.assert_alike(horizon=1)
    assert calls.bootstrapped() == {DAYS - 1}
    assert calls.drop(horizon=1) == ()
    calls.database.order(1, "SYSTEM STOP REPLICATION QUEUES calls__rows")
    assert calls.drop(horizon=3) == (20241004, 20241005)
    assert until(lambda: calls.days()[0] == calls.days()[2] == 2, 20)
    assert calls.days()[1] == DAYS
    # The one that has not is not known to be complete, and is so once its queue goes on.
    calls.database.order(1, "SYSTEM START REPLICATION QUEUES calls__rows")
    assert until(lambda: calls.days() == [2, 2, 2], 20)
    assert calls.drop(horizon=3) == ()
    calls.assert_alike(horizon=3)
    assert calls.bootstrapped() == {DAYS - 1}


def test_rows_that_come_back_are_hidden_and_dropped_again(calls):
    assert calls.drop(horizon=3)
    calls.add(0)
    calls.assert_alike(horizon=3)
    assert calls.drop(horizon=3) == (20241004,)
