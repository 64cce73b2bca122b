"""A block is loaded in spite of replicas and a ZooKeeper that come and go, and once only."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing

import pytest

from aggregator.loader.block_loading import BlockLoading
from aggregator.loader.pause_watch import PauseWatch
from aggregator.store.insert_errors import ErrorClass
from aggregator.store.retry import RetryPolicy
from aggregator.store.shard_store import NotStored
from tests.live.replicas import new_database
from tests.live.stored import COLUMNS, block_of, decoded, store_of

pytestmark = pytest.mark.stores

PAUSE_SECONDS = 0.3
WITHOUT_ZOOKEEPER = {
    "225",  # the replica has no session
    "999",  # it did not reach ZooKeeper, or lost it in the middle
    "319",  # it lost ZooKeeper while it committed the block
    "242",  # ZooKeeper is back, and the table still read-only
    "285",  # this replica is writable again, and no other one
    "286",  # the quorum of an earlier attempt is still open
    # A busy replica looks for ZooKeeper longer than a client waits for the replica. The insert goes
    # on then, and the replica refuses the next attempt.
    "socket",
    "216",
}
"""Errors of inserts while ZooKeeper is away, and until replicas have found it again. All of them
mean: the block is sent again. Any other one would stop the loader, or tell of a lost server."""


@pytest.fixture
def own_database(own_replicas):
    """A database of own replicas with a table `flights`."""
    with new_database(own_replicas) as database:
        database.create_table("flights", COLUMNS, order_by="_offset")
        yield database


@pytest.fixture
def database(replicated_database):
    """A database of the shared replicas, whose table `flights` remembers two blocks."""
    settings = {"replicated_deduplication_window": 2}
    replicated_database.create_table("flights", COLUMNS, order_by="_offset", settings=settings)
    return replicated_database


def loading_into(database, tmp_path, *, quorum=2, **options) -> BlockLoading:
    store = store_of(
        database.replicas.addresses(), database.name, tmp_path, quorum=quorum, **options
    )
    store.tables()
    policy = RetryPolicy(pause_seconds=0.05, pause_seconds_max=0.5, replicas=3)
    watch = PauseWatch(PAUSE_SECONDS)
    return BlockLoading(store, policy, asyncio.Semaphore(1), "feed=flights", watch)


def blocks_of(loading, count, rows=10):
    schema = loading.store.schemas()["flights"]
    return [block_of(schema, decoded(range(n * rows, (n + 1) * rows))) for n in range(count)]


async def test_blocks_go_to_another_replica_when_the_first_is_killed(own_database, tmp_path):
    loading = loading_into(own_database, tmp_path)
    with closing(loading.store):
        blocks = blocks_of(loading, 15)
        async with asyncio.timeout(60):
            for number, block in enumerate(blocks):
                if number == 5:
                    own_database.replicas[0].kill()
                await loading.load(block, is_doubtful=False)
        own_database.replicas[0].start()
        own_database.replicas[0].wait_ready()
    assert own_database.counts("flights") == [150, 150, 150]
    assert not loading.problems


async def test_a_block_waits_for_zookeeper_and_is_stored_once(own_database, tmp_path):
    loading = loading_into(own_database, tmp_path)
    with closing(loading.store):
        first, second = blocks_of(loading, 2)
        await loading.load(first, is_doubtful=False)
        own_database.replicas.zookeeper.kill()
        task = asyncio.create_task(loading.load(second, is_doubtful=False))
        async with asyncio.timeout(60):
            while loading.errors.total() < 4:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            own_database.replicas.zookeeper.start()
            await task
    assert set(loading.errors) <= WITHOUT_ZOOKEEPER
    own_database.wait_writable()  # the quorum needs two of the three
    assert own_database.counts("flights") == [20, 20, 20]


async def test_many_blocks_at_once_share_the_quorum_of_a_table(database, tmp_path):
    loading = loading_into(database, tmp_path)
    loading.slots = asyncio.Semaphore(8)
    with closing(loading.store):
        blocks = blocks_of(loading, 12)
        async with asyncio.timeout(60):
            await asyncio.gather(*(loading.load(each, is_doubtful=False) for each in blocks))
    assert database.counts("flights") == [120, 120, 120]
    assert not loading.errors["286"]


async def test_loaders_that_meet_at_a_table_all_get_through(database, tmp_path):
    loadings = [loading_into(database, tmp_path) for _ in range(3)]
    blocks = blocks_of(loadings[0], 15)

    async def all_of(at):
        for block in blocks[at::3]:
            await loadings[at].load(block, is_doubtful=False)

    async with asyncio.timeout(60):
        await asyncio.gather(*map(all_of, range(3)))
    for loading in loadings:
        loading.store.close()
    assert database.counts("flights") == [150, 150, 150]


@pytest.mark.parametrize("is_sealed_before", [False, True])
async def test_a_loader_that_stood_still_repeats_nothing_long_after_the_window(
    database, tmp_path, is_sealed_before
):
    zombie, successor = (loading_into(database, tmp_path, quorum=0) for _ in range(2))
    block, *others = blocks_of(zombie, 6)
    async with zombie.slots:
        if not is_sealed_before:
            task = asyncio.create_task(zombie.load(block, is_doubtful=False))
            await asyncio.sleep(0)
        await successor.load(block, is_doubtful=True)
        for other in others:
            await successor.load(other, is_doubtful=False)
        memory = "SELECT count() FROM system.zookeeper WHERE path = '{}/blocks'"
        path = database.ask(
            0, "SELECT zookeeper_path FROM system.replicas WHERE database = currentDatabase()"
        )
        async with asyncio.timeout(30):
            while database.ask(0, memory.format(path)) > 2:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        time.sleep(2 * PAUSE_SECONDS)  # noqa: ASYNC251 - the loader stands still
    async with asyncio.timeout(30):
        await (zombie.load(block, is_doubtful=False) if is_sealed_before else task)
    for loading in (zombie, successor):
        loading.store.close()
    assert database.counts("flights") == [60, 60, 60]


def test_a_thread_that_comes_too_late_sends_nothing(database, tmp_path):
    loading = loading_into(database, tmp_path)
    with closing(loading.store):
        [block] = blocks_of(loading, 1)
        with pytest.raises(NotStored) as caught:
            loading.store.insert(block, block.native, not_after=time.monotonic())
        problem = caught.value.problem
        assert (problem.error_class, problem.may_be_stored) == (ErrorClass.SAME_AGAIN, True)
    assert database.counts("flights") == [0, 0, 0]


async def test_a_store_that_is_closed_ends_the_inserts_that_wait(database, tmp_path):
    for replica in (1, 2):
        with database.client(replica) as client:
            client.execute("SYSTEM STOP FETCHES flights")
    loading = loading_into(database, tmp_path, insert_seconds=30.0)
    [block] = blocks_of(loading, 1)
    task = asyncio.create_task(asyncio.to_thread(loading.store.insert, block, block.native))
    running = f"SELECT count() FROM system.processes WHERE query_id = '{block.name}'"
    async with asyncio.timeout(10):
        while not database.ask(0, running):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        loading.store.close()
        with pytest.raises(NotStored):
            await task
    for replica in (1, 2):
        with database.client(replica) as client:
            client.execute("SYSTEM START FETCHES flights")
            # A new block wakes replicas that failed to fetch the one before.
            client.execute("INSERT INTO flights (day) VALUES", [(1,)])
