"""Horizon of upsert tables on three replicas of 18.16: what lies before it goes, and a server that
was away meanwhile answers again once its rows are those of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from aggregator.store.shard_store import NotStored
from aggregator.upsert.bootstrap import plan_bootstrap, usable_point
from aggregator.upsert.claims import What
from aggregator.upsert.horizon import Horizon
from aggregator.upsert.query_mark import At
from aggregator.upsert.reader import Reader, UpsertPlace
from aggregator.upsert.seen_rows import UpsertNames
from aggregator.upsert.settle_plan import SettlePlan, settle_plan
from aggregator.upsert.settling import Settled
from aggregator.upsert.tick import OPEN as OPEN_ROW
from aggregator.upsert.tick import ROW_BITS
from aggregator.upsert.upsert_schema import TICKS_PER_PARTITION
from aggregator.upsert.visibility import MarkRefused
from deploy.lab.clickhouse import READER
from deploy.lab.credentials import PASSWORD
from deploy.lab.wait import until
from replicator.config.clickhouse_address import ClickHouseAddress
from replicator.runtime.store_errors import StoreUnreachable
from tests.live.replicas import ReplicatedDatabase
from tests.live.test_upsert_store import LANE, TABLE, Kept, kept_in, numbers, wait

pytestmark = pytest.mark.stores

HISTORY_SECONDS = 2.0
"""Time of two ticks."""
PARTITIONS = "SELECT arraySort(groupUniqArray(partition)) FROM system.parts WHERE active "
PARTITIONS += "AND database = currentDatabase() AND table = 'accounts__updates'"
OPEN = "SELECT count() FROM accounts__rows WHERE _until > {mark} AND _row_id < {end}"


@pytest.fixture
def kept(replicated_database, tmp_path) -> Iterator[Kept]:
    it = kept_in(replicated_database, tmp_path)
    it.tick = TICKS_PER_PARTITION - 6
    yield it
    it.close()


def let_go(kept: Kept, pruned_min: int = 1) -> Horizon:
    """Publishes the horizon, and lets go of what lies before it."""
    horizon = Horizon(
        kept.store, "accounts", HISTORY_SECONDS, 336.0, wait_seconds=0.0, pruned_min=pruned_min
    )
    claim = kept.ticks.newest(What.CLAIM)
    now = iter(range(0, 10**6, 1000))

    def is_gone() -> bool:
        with suppress(NotStored):  # no leader, while a server is away
            horizon.follow(kept.ticks, claim, float(next(now)))
        return horizon.is_gone

    assert until(is_gone, 30)
    return horizon


def plan_now(kept: Kept) -> SettlePlan:
    horizon = kept.ticks.newest(What.HORIZON)
    plan = settle_plan(
        kept.ticks.settle_points(),
        kept.ticks.newest(What.CLAIM),
        kept.servers,
        settle_seconds=1.0,
        horizon=horizon.tick if horizon else 0,
    )
    assert plan is not None
    return plan


def settled(kept: Kept) -> list[int]:
    return numbers(kept.settler().settle(plan_now(kept), timeout_seconds=10.0))


def answer(kept: Kept, replica: int, at: At | None = None) -> list[tuple[int, int]]:
    """Returns what the product's reader shows of one replica."""
    place = UpsertPlace(
        "bank",
        kept.database.name,
        (ClickHouseAddress.parse(kept.database.replicas.addresses()[replica]),),
        None,
        {"accounts": UpsertNames("accounts", ("id", "value"))},
        {"accounts": HISTORY_SECONDS},
        {"accounts": TABLE.retention_hours},
    )
    reader = Reader([place], user=READER, password=PASSWORD, timeout_seconds=2.0)
    with reader.query("SELECT id, value FROM accounts ORDER BY id", at or At()) as found:
        return list(found)


def usable(kept: Kept, replica: int) -> int | None:
    """Returns the settle point from which a bootstrap would read a replica; None: not at all."""
    claim = kept.ticks.newest(What.CLAIM)
    plan = plan_bootstrap(
        kept.store, "accounts", claim, [LANE], retention_hours=336, tasks=1, wait=wait
    )
    with kept.database.client(replica) as client:
        return usable_point(client, kept.database.name, plan)


@contextmanager
def away(kept: Kept, replica: int) -> Iterator[Callable[[], None]]:
    """Keeps a replica from what the others get: parts, and changes of its own. It yields what
    brings it the parts; its own changes follow at the end."""
    tables = ("accounts__rows", "accounts__updates", "accounts__ticks")
    kept.database.order(replica, "SYSTEM STOP MERGES accounts__rows")
    for table in tables:
        kept.database.order(replica, f"SYSTEM STOP FETCHES {table}")

    def fetches() -> None:
        for table in tables:
            kept.database.order(replica, f"SYSTEM START FETCHES {table}")

    try:
        yield fetches
    finally:
        fetches()
        kept.database.order(replica, "SYSTEM START MERGES accounts__rows")


def add_ticks(kept: Kept, count: int, replica: int = 0) -> None:
    for _ in range(count):
        order = kept.tick
        kept.add_tick([(1, order, False), (2, order, order % 3 == 0)], replica=replica)


def test_a_server_that_was_away_beyond_the_horizon_answers_once_its_rows_are_the_others(kept):
    kept.add_tick([(key, 1, False) for key in range(3)], days=3)
    assert settled(kept) == [0, 1, 2]
    first_point = kept.tick
    for table in ("accounts__rows", "accounts__updates", "accounts__ticks"):
        kept.catch_up(2, table)
    with away(kept, 2) as fetches:
        for _ in range(3):
            add_ticks(kept, 3)
            assert settled(kept) == [0, 1]
        add_ticks(kept, 3)
        assert kept.database.ask(0, PARTITIONS) == ["0", "1"]
        horizon = let_go(kept).published.tick
        assert first_point < TICKS_PER_PARTITION <= horizon <= kept.tick - HISTORY_SECONDS
        assert [kept.database.ask(replica, PARTITIONS) for replica in (0, 1)] == [["1"], ["1"]]
        fetches()
        add_ticks(kept, 1, replica=1)
        kept.catch_up(2, "accounts__updates", "accounts__ticks")
        kept_rows = f"SELECT count() FROM accounts__rows WHERE _row_id >= {1 << ROW_BITS}"
        assert until(lambda: kept.database.ask(2, kept_rows) == len(kept.records), 20)
        # It has all parts. Rows that ended meanwhile are open, and nothing there tells so.
        query = OPEN.format(mark=horizon, end=(horizon + 1) << 32)
        assert kept.database.ask(2, query) > kept.database.ask(0, query)
        assert settled(kept) == [0, 1]
        assert usable(kept, 0) == usable(kept, 1) == kept.tick
        assert usable(kept, 2) is None
        assert kept.bootstrapped() == {key: state[:1] for key, state in kept.states.items()}
        with pytest.raises(StoreUnreachable, match="may be gone"):
            answer(kept, 2)
        assert answer(kept, 0) == kept.expected(kept.tick)
    assert until(lambda: settled(kept) == [0, 1, 2], 30)
    kept.catch_up(2)
    add_ticks(kept, 2)
    for replica in range(3):
        kept.catch_up(replica, "accounts__rows", "accounts__updates", "accounts__ticks")
        for mark in range(kept.tick - 2, kept.tick + 1):
            assert answer(kept, replica, At(tick=mark)) == kept.expected(mark)
        assert kept.view(replica) == kept.expected(kept.tick - 2)


def test_a_server_that_was_down_or_is_new_beyond_the_horizon_returns_by_itself(
    own_replicas, tmp_path
):
    kept = kept_in(ReplicatedDatabase(own_replicas, "default"), tmp_path)
    kept.tick = TICKS_PER_PARTITION - 6
    add_ticks(kept, 3)
    assert settled(kept) == [0, 1, 2]
    own_replicas[2].kill()
    for _ in range(3):
        add_ticks(kept, 3)
        assert until(lambda: settled(kept) == [0, 1], 30)
    add_ticks(kept, 3)
    let_go(kept)
    own_replicas[2].start()
    own_replicas[2].wait_ready()
    kept.database.wait_writable()
    assert until(lambda: settled(kept) == [0, 1, 2], 60)
    kept.catch_up(2)
    assert answer(kept, 2) == kept.expected(kept.tick)
    kept.close()


def test_ends_before_the_horizon_go_and_all_that_may_be_read_stays(kept):
    points = []
    kept.add_tick([(key, 1, False) for key in range(3)], days=3)
    for _ in range(4):
        add_ticks(kept, 3)
        assert settled(kept) == [0, 1, 2]
        points.append(kept.tick)
    add_ticks(kept, 1)
    before = kept.ticks.claims(TICKS_PER_PARTITION - 5, kept.tick)
    let_go(kept, pruned_min=10**6)
    assert kept.ticks.claims(TICKS_PER_PARTITION - 5, kept.tick) == before
    horizon = kept.ticks.newest(What.HORIZON).tick
    assert horizon == points[-2], "a settle point that is two ticks old"
    for replica in range(3):
        kept.catch_up(replica, "accounts__rows", "accounts__updates", "accounts__ticks")
        assert kept.database.ask(replica, PARTITIONS) == ["1"]
        for mark in range(horizon, kept.tick + 1):
            assert answer(kept, replica, At(tick=mark)) == kept.expected(mark)
        with pytest.raises(MarkRefused, match=f"oldest that can be read is {horizon}"):
            answer(kept, replica, At(tick=horizon - 1))
    assert let_go(kept).published.tick == horizon
    add_ticks(kept, 1)  # 18.16 leaves the last part out until another one comes.
    ticks = "SELECT groupArray((toString(what), tick)) FROM "
    ticks += "(SELECT what, tick FROM accounts__ticks WHERE tick < {tick} ORDER BY tick)"

    def left() -> list[tuple[str, int]]:
        return kept.database.ask(1, ticks.format(tick=horizon))

    claimed = [("claim", each) for each in range(TICKS_PER_PARTITION - 5, horizon)]
    assert until(lambda: left() == claimed, 20), "claims are as old as rows may be"
    assert kept.bootstrapped() == {key: state[:1] for key, state in kept.states.items()}
    # Nobody is left that a settle point names, but for servers that are gone.
    plan = plan_now(kept)
    plan = plan._replace(after={"gone": plan.point})

    def settled_by_rows() -> Settled:
        return kept.settler().settle(plan, timeout_seconds=10.0)

    assert settled_by_rows().servers == tuple(sorted(kept.servers)), (
        "the rows prove that no end is lost"
    )
    lose = f"ALTER TABLE accounts__rows UPDATE _until = {OPEN_ROW} WHERE _until < {horizon} "
    kept.database.order(0, f"{lose} AND _deleted = 0 AND _row_id >= {1 << ROW_BITS}")
    assert until(lambda: settled_by_rows().are_ends_lost, 20)
    # An operator may still say that a server has them (docs/upsert.md, Lost ends).
    says = "INSERT INTO accounts__ticks SELECT generation, tick, 'settled', time_ms, [], 0, 0, 0, "
    says += "0, ['new'] FROM accounts__ticks WHERE what = 'horizon' ORDER BY tick DESC LIMIT 1"
    kept.database.order(0, says)
    add_ticks(kept, 1)  # It is read once another part has come.
    assert until(lambda: "new" in kept.ticks.settle_points(horizon, horizon)[0].servers, 20)
