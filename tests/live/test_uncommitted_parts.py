"""Rows of a part whose commit has failed are shown for minutes, and do not count as stored."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from aggregator.loader.block_loading import BlockLoading
from aggregator.store.recognition import Verdict, has_uncommitted, replica_path
from aggregator.store.retry import RetryPolicy
from aggregator.store.shard_store import NotStored
from deploy.lab.clickhouse_replicas import ClickHouseReplicas
from deploy.lab.process import free_port
from deploy.lab.wait import until
from tests.live import clickhouse_codes as codes
from tests.live.commit_proxy import CommitProxy, Lost
from tests.live.replicas import ReplicatedDatabase, new_database
from tests.live.stored import COLUMNS, block_of, decoded, store_of

pytestmark = pytest.mark.stores

SESSION_SECONDS = 3.0
DISTINCT = "SELECT uniqExact(_offset) FROM flights"


@pytest.fixture(scope="module")
def site(needs_clickhouse, tmp_path_factory):
    """Two replicas, and the proxy between the first of them and ZooKeeper."""
    port = free_port()
    replicas = ClickHouseReplicas(
        tmp_path_factory.mktemp("site"),
        count=2,
        session_seconds=SESSION_SECONDS,
        zookeeper_ports={0: port},
    )
    with ExitStack() as stack:
        proxy = stack.enter_context(CommitProxy(replicas.zookeeper.port, port))
        stack.enter_context(replicas)
        yield replicas, proxy


@pytest.fixture
def proxy(site) -> CommitProxy:
    return site[1]


@pytest.fixture
def flights(site):
    """A database with the table `flights`."""
    with new_database(site[0]) as database:
        database.create_table("flights", COLUMNS, order_by="text")
        yield database


@pytest.fixture
def make_store(flights, tmp_path):
    """`make_store(quorum=2)`: a store that inserts into the first replica."""
    with ExitStack() as stack:

        def make(quorum):
            store = store_of(flights.replicas.addresses(), flights.name, tmp_path, quorum=quorum)
            stack.callback(store.close)
            store.tables()
            return store

        yield make


def insert_in_vain(store, flights, proxy, lost, offsets=range(10)):
    """Inserts a block whose commit gets no answer; waits for the next session of the server."""
    block = block_of(store.schemas()["flights"], decoded(offsets))
    proxy.lose(lost)
    with pytest.raises(NotStored) as caught:
        store.insert(block, block.native)
    assert caught.value.problem.code == codes.UNKNOWN_STATUS
    flights.wait_writable()
    return block


def look(store, block, *, is_same=True, is_patient=True):
    return store.look(block, is_same=is_same, is_patient=is_patient)


async def load(store, block):
    policy = RetryPolicy(pause_seconds=0.05, pause_seconds_max=0.5, replicas=2)
    async with asyncio.timeout(30):
        await BlockLoading(store, policy, asyncio.Semaphore(4), "feed=flights").load(
            block, is_doubtful=True
        )


def shown(flights, replica) -> int:
    return int(flights.ask(replica, "SELECT count() FROM flights"))


def shows_uncommitted(flights, replica) -> bool:
    """Returns True for a server that readers of upsert tables pass over, and settling does not
    name."""
    with flights.client(replica) as client:
        path = replica_path(client, flights.name, "flights")
        return has_uncommitted(client, flights.name, "flights", path)


@pytest.mark.parametrize("quorum", [0, 2])
async def test_rows_of_a_part_that_zookeeper_does_not_know_are_inserted_again(
    flights, make_store, proxy, quorum
):
    store = make_store(quorum)
    block = insert_in_vain(store, flights, proxy, Lost.REQUEST)
    assert (shown(flights, 0), shown(flights, 1)) == (10, 0)
    assert [shows_uncommitted(flights, replica) for replica in range(2)] == [True, False]
    decision = look(store, block)
    assert decision.verdict is Verdict.INSERT and "ZooKeeper does not know" in decision.why
    # Their commit may still arrive for a while: only the very same block is recognized then.
    assert look(store, block, is_same=False).verdict is Verdict.LOOK_AGAIN
    assert look(store, block, is_same=False, is_patient=False).verdict is Verdict.INSERT
    await load(store, block)
    assert look(store, block).verdict is Verdict.DONE
    assert flights.on_each(DISTINCT, "flights") == [10, 10]
    assert shown(flights, 1) == 10


async def test_rows_of_a_part_whose_commit_was_made_are_stored_once(flights, make_store, proxy):
    store = make_store(0)
    block = insert_in_vain(store, flights, proxy, Lost.ANSWER)
    assert look(store, block).verdict is Verdict.DONE
    await load(store, block)
    assert flights.counts("flights") == [10, 10]


async def test_a_merge_drops_the_part_that_zookeeper_does_not_know(flights, make_store, proxy):
    store = make_store(0)
    schema = store.schemas()["flights"]
    before = block_of(schema, decoded([100]))
    store.insert(before, before.native)
    lost = insert_in_vain(store, flights, proxy, Lost.REQUEST)
    behind = block_of(schema, decoded([200]))
    store.insert(behind, behind.native)
    flights.counts("flights")
    merge_all(flights)
    assert until(lambda: shown(flights, 0) == 2, 20)
    for block in (before, behind):
        assert look(store, block).verdict is Verdict.DONE
    assert look(store, lost).verdict is Verdict.INSERT
    await load(store, lost)
    assert flights.counts("flights") == [12, 12]


def merge_all(database: ReplicatedDatabase) -> None:
    """Merges all parts of the table, by the replica that leads it."""
    leads = f"SELECT is_leader FROM system.replicas WHERE database = '{database.name}'"

    def leaders() -> list[int]:
        return [at for at in range(2) if database.ask(at, leads)]

    assert until(lambda: bool(leaders()), 20)
    database.order(leaders()[0], "OPTIMIZE TABLE flights")
