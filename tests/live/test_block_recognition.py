"""A block that may be stored already is looked for by its coordinates, and stored once."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np
import pytest

from aggregator.intents.table_range import KeeperMoment
from aggregator.loader.block_loading import BlockLoading, TableChanged
from aggregator.store.recognition import Verdict, is_complete, replica_sight
from aggregator.store.retry import RetryPolicy
from aggregator.store.shard_store import CannotBeRecognized, NotStored
from tests.live.stored import COLUMNS, block_of, decoded, store_of

pytestmark = pytest.mark.stores


@pytest.fixture
def flights(replicated_database):
    """A database with the table `flights`, which remembers two blocks only."""
    replicated_database.create_table(
        "flights",
        COLUMNS,
        order_by="text",
        partition_by="day",
        settings={"replicated_deduplication_window": 2},
    )
    return replicated_database


@pytest.fixture
def make_store(flights, tmp_path):
    """`make_store(quorum=2)`: a store of all replicas."""
    made = []

    def make(quorum=2, **options):
        addresses = options.pop("addresses", flights.replicas.addresses())
        made.append(store_of(addresses, flights.name, tmp_path, quorum=quorum, **options))
        made[-1].tables()
        return made[-1]

    yield make
    for store in made:
        store.close()


def loading_of(store) -> BlockLoading:
    policy = RetryPolicy(pause_seconds=0.05, pause_seconds_max=0.5, replicas=len(store.replicas))
    return BlockLoading(store, policy, asyncio.Semaphore(4), "feed=flights")


async def load(store, block, *, is_doubtful=True) -> BlockLoading:
    loading = loading_of(store)
    async with asyncio.timeout(30):
        await loading.load(block, is_doubtful=is_doubtful)
    return loading


def look(store, block, *, is_same=True, is_patient=False):
    return store.look(block, is_same=is_same, is_patient=is_patient)


@contextmanager
def without_fetches(database, *replicas):
    """Keeps replicas from fetching parts of `flights`."""
    for replica in replicas:
        with database.client(replica) as client:
            client.execute("SYSTEM STOP FETCHES flights")
    try:
        yield
    finally:
        for replica in replicas:
            with database.client(replica) as client:
                client.execute("SYSTEM START FETCHES flights")
        wake(database)


def wake(database):
    """Wakes replicas that sleep for ten seconds since a fetch failed, by a new entry for them."""
    with database.client(leader(database, "flights")) as client:
        client.execute("INSERT INTO flights (day) VALUES", [(77,)])
        client.execute("ALTER TABLE flights DROP PARTITION 77")


def leader(database, table) -> int:
    """Returns the replica that has to be asked for merges and drops."""
    question = "SELECT is_leader FROM system.replicas WHERE database = currentDatabase()"
    [first, *_] = [at for at in range(3) if database.ask(at, f"{question} AND table = '{table}'")]
    return first


def test_a_profile_that_cuts_answers_hides_no_row(flights, make_store):
    store = make_store()
    block = block_of(store.schemas()["flights"], decoded(range(50), days=3))
    store.insert(*whole(block))
    # Settings of a session come before those of the profile, and behind those of a query.
    for replica in store.replicas:
        with replica.connected() as it:
            own, it.client.settings = it.client.settings, {}
            it.client.execute("SET max_rows_to_read = 9, read_overflow_mode = 'break'")
            it.client.settings = own
    with pytest.raises(NotStored, match="rows to read"):
        look(store, block)


def test_rows_are_found_by_their_coordinates_and_earlier_parts_are_not_read(flights, make_store):
    store = make_store()
    schema = store.schemas()["flights"]
    moments = []
    for begin in (0, 100):
        moments.append(store.moment("flights"))
        store.insert(*whole(block_of(schema, decoded(range(begin, begin + 50), days=3))))
    moments.append(store.moment("flights"))
    block = block_of(schema, decoded(range(40, 120), days=3))
    first, second = [*range(40, 50)], [*range(100, 120)]
    other = KeeperMoment(moments[2].zxid, moments[2].table + 1)
    seen = [first + second, second, [], first + second, first + second]
    with flights.client() as client:
        for moment, offsets in zip([*moments, None, other], seen, strict=True):
            found = replica_sight(client, flights.name, block.name, moment).rows
            assert sorted(found.offset.tolist()) == offsets
            assert block.identities.among(found).sum() == len(offsets)


@pytest.mark.parametrize("seconds", [-3600, 3600])
async def test_a_block_is_recognized_whatever_the_clock_of_its_loader_said(
    flights, make_store, seconds
):
    store = make_store()
    sealed_at_ms = now_ms() + 1000 * seconds
    rows = decoded(range(100), days=3)
    block = block_of(store.schemas()["flights"], rows, sealed_at_ms=sealed_at_ms)
    await load(store, replace(block, moment=store.moment("flights")), is_doubtful=False)
    assert look(store, block).verdict is Verdict.DONE
    await load(store, block)
    assert flights.counts("flights") == [100, 100, 100]


async def test_a_block_that_was_stored_is_recognized_long_after_its_window(flights, make_store):
    store = make_store()
    schema = store.schemas()["flights"]
    block = block_of(schema, decoded(range(100), days=3))
    await load(store, block, is_doubtful=False)
    for number in range(4):
        await load(store, block_of(schema, decoded([1000 + number])), is_doubtful=False)
    flights.counts("flights")
    assert look(store, block).verdict is Verdict.DONE
    await load(store, block)
    assert flights.counts("flights") == [104, 104, 104]


async def test_only_the_rows_that_the_table_lacks_are_loaded(flights, make_store):
    store = make_store()
    schema = store.schemas()["flights"]
    block = block_of(schema, decoded(range(100), days=3))
    part = [offset for offset in range(100) if offset % 3 == 1]
    await load(store, block_of(schema, decoded(part, days=3)), is_doubtful=False)
    flights.counts("flights")
    decision = look(store, block)
    assert decision.verdict is Verdict.INSERT_REST
    assert np.flatnonzero(~decision.lacking).tolist() == part
    await load(store, block)
    assert (
        flights.on_each("SELECT uniqExact(_offset) * 1000 + count() FROM flights", "flights")
        == [100_100] * 3
    )


async def test_a_block_is_loaded_again_under_another_schema_without_a_duplicate(
    flights, make_store
):
    store = make_store()
    schema = store.schemas()["flights"]
    await load(store, block_of(schema, decoded(range(100), days=3)), is_doubtful=False)
    with flights.client() as client:
        client.execute("ALTER TABLE flights ADD COLUMN tail String DEFAULT 'N0'")
        client.execute("ALTER TABLE flights DROP COLUMN number")
    rows = decoded(range(110), days=3)
    with pytest.raises(TableChanged):
        await load(store, block_of(schema, rows, is_as_intended=False))
    await load(store, block_of(store.schemas()["flights"], rows, is_as_intended=False))
    assert flights.counts("flights") == [110, 110, 110]


async def test_an_acknowledged_repeat_counts_only_once_the_quorum_has_the_rows(flights, make_store):
    store = make_store(insert_seconds=2.0)
    block = block_of(store.schemas()["flights"], decoded(range(10)))
    with without_fetches(flights, 1, 2):
        with pytest.raises(NotStored):
            store.insert(*whole(block))
        # On a busy server the insert goes on for a moment after its client has given up.
        expected = (Verdict.LOOK_AGAIN, "rows of the block wait for their quorum")
        await until(lambda: look(store, block).why == expected[1])
        decision = look(store, block)
        assert (decision.verdict, decision.why) == expected
        loading = asyncio.create_task(load(store, block))
        done, _ = await asyncio.wait([loading], timeout=1.0)
        assert not done
    await loading
    assert flights.counts("flights") == [10, 10, 10]


async def test_a_block_with_an_open_quorum_is_stored_once_by_the_loader_that_sent_it(
    flights, make_store
):
    store = make_store(insert_seconds=1.0)
    block = block_of(store.schemas()["flights"], decoded(range(10), days=3))
    loading = loading_of(store)
    with without_fetches(flights, 1, 2):
        task = asyncio.create_task(loading.load(block, is_doubtful=False))
        await until(lambda: loading.errors["319"])
    async with asyncio.timeout(30):
        await task
    assert not loading.problems
    assert flights.counts("flights") == [10, 10, 10]


async def test_an_insert_that_still_runs_is_waited_for(flights, make_store):
    store = make_store(insert_seconds=4.0)
    block = block_of(store.schemas()["flights"], decoded(range(10)))
    with without_fetches(flights, 1, 2):
        predecessor = make_store(insert_seconds=4.0)
        thread = threading.Thread(target=attempted, args=(predecessor, block))
        thread.start()
        await until(lambda: look(store, block).why == "an earlier insert of the block still runs")
        # Also where the block is formed otherwise than the predecessor formed it.
        other = block_of(
            store.schemas()["flights"], decoded(range(12)), end=10, is_as_intended=False
        )
        assert look(store, other).verdict is Verdict.LOOK_AGAIN
    thread.join()
    await load(store, block)
    assert flights.counts("flights") == [10, 10, 10]


async def test_a_replica_that_lacks_parts_proves_no_absence(flights, make_store):
    store = make_store(quorum=0)
    schema = store.schemas()["flights"]
    stored = block_of(schema, decoded(range(10)))
    with without_fetches(flights, 1, 2):
        store.insert(*whole(stored))
        last = make_store(quorum=0, addresses=flights.replicas.addresses()[2:])
        await until(lambda: queued(flights, 2))
        other = block_of(schema, decoded(range(12)), is_as_intended=False)
        decision = look(last, other, is_same=False)
        assert decision.verdict is Verdict.LOOK_AGAIN and "no replica has all parts" in decision.why
        # The very block is recognized by its hash, so it may be sent.
        assert look(last, stored).verdict is Verdict.INSERT
    await load(last, other)
    assert flights.counts("flights") == [12, 12, 12]


async def test_an_empty_table_is_complete(flights):
    with flights.client() as client:
        await until(lambda: is_complete(client, flights.name, "flights"))


async def test_without_coordinates_a_block_is_repeated_only_within_the_window(flights, make_store):
    flights.create_table(
        "bare",
        "day UInt8, text String, number Nullable(Int64)",
        order_by="text",
        settings={"replicated_deduplication_window": 4},
    )
    store = make_store()
    schema = store.schemas()["bare"]
    blocks = [block_of(schema, decoded(range(10 * n, 10 * n + 10))) for n in range(8)]
    for number in range(2):
        blocks[number] = replace(blocks[number], moment=store.moment("bare"))
        await load(store, blocks[number], is_doubtful=False)
    await load(store, blocks[1])
    assert flights.counts("bare") == [20, 20, 20]
    with pytest.raises(CannotBeRecognized, match="lacks some of the columns _cluster, _topic"):
        look(store, blocks[1], is_same=False)
    for block in blocks[2:]:
        await load(store, block, is_doubtful=False)
    await until(lambda: cannot_be_recognized(store, blocks[1]))


async def test_a_table_that_is_full_is_held_until_merges_have_caught_up(flights, make_store):
    flights.create_table(
        "full",
        COLUMNS,
        order_by="_offset",
        settings={"parts_to_throw_insert": 4, "parts_to_delay_insert": 3},
    )
    store = make_store(quorum=0)
    schema = store.schemas()["full"]
    loading = loading_of(store)
    flights.execute("SYSTEM STOP MERGES full")
    blocks = [block_of(schema, decoded([number])) for number in range(8)]
    tasks = [asyncio.create_task(loading.load(block, is_doubtful=False)) for block in blocks]
    await until(lambda: loading.is_held("full"))
    before = loading.errors["252"]
    await asyncio.wait(tasks, timeout=1.0)
    assert loading.is_held("full")
    assert loading.errors["252"] <= before + len(blocks)
    flights.execute("SYSTEM START MERGES full")
    with flights.client(leader(flights, "full")) as client:
        client.execute("OPTIMIZE TABLE full")
    async with asyncio.timeout(30):
        await asyncio.gather(*tasks)
    assert not loading.is_held("full")
    assert flights.counts("full") == [8, 8, 8]


def whole(block):
    return block, block.native


def attempted(store, block):
    with suppress(NotStored):
        store.insert(*whole(block))


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def cannot_be_recognized(store, block) -> bool:
    try:
        look(store, block)
    except CannotBeRecognized:
        return True
    return False


def queued(database, replica) -> bool:
    query = "SELECT inserts_in_queue FROM system.replicas WHERE database = currentDatabase()"
    return database.ask(replica, f"{query} AND table = 'flights'") > 0


async def until(holds, timeout_seconds: float = 20.0) -> None:
    """Waits for a condition of the servers, which nothing announces."""
    async with asyncio.timeout(timeout_seconds):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
