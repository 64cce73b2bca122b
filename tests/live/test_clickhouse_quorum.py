"""Facts about quorum inserts of ClickHouse that the aggregator builds on."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

import numpy as np
import pytest
from clickhouse_driver.errors import ServerException

from deploy.lab.wait import until
from tests.live import clickhouse_codes as codes
from tests.live.replicas import ReplicatedDatabase

pytestmark = pytest.mark.stores

BLOCK = [(1, "a"), (2, "b")]
OTHER = [(3, "c")]
WAKE = [(1000, "")]
COUNT = "SELECT count() FROM t WHERE a < 1000"


@pytest.fixture
def database(replicated_database):
    """A database with a table `t` on the shared replicas."""
    replicated_database.create_table("t", "a UInt64, s String", order_by="a")
    return replicated_database


@pytest.fixture
def own_database(own_replicas):
    """A database with a table `t` on replicas that the test may kill."""
    database = ReplicatedDatabase(own_replicas, "default")
    database.create_table("t", "a UInt64, s String", order_by="a")
    return database


@pytest.fixture
def background() -> Iterator[Callable[..., Future[int]]]:
    """`background(database.insert, 0, "t", BLOCK)`: the same call in another thread."""
    with ThreadPoolExecutor(8) as pool:
        yield pool.submit


def is_running(database: ReplicatedDatabase, query_id: str, replica: int = 0) -> bool:
    query = f"SELECT count() FROM system.processes WHERE query_id = '{query_id}'"
    return database.ask(replica, query) == 1


@contextmanager
def open_quorum(database, background, timeout_seconds: float = 2.0) -> Iterator[Future[int]]:
    """An insert of BLOCK, with the query id "first", whose block only replica 0 has."""
    with database.no_fetches("t", 1, 2, wake=WAKE):
        first = background(
            database.insert,
            *(0, "t", BLOCK, "first"),
            insert_quorum=2,
            insert_quorum_timeout=round(timeout_seconds * 1000),
        )
        assert until(lambda: database.ask(0, COUNT) == len(BLOCK), 20)
        yield first


def acked(database, replica: int, rows, timeout_seconds: float = 60.0) -> bool:
    """Inserts a block again and again until it is acknowledged."""
    return until(
        lambda: database.insert(replica, "t", rows, insert_quorum=2) == codes.ACKED, timeout_seconds
    )


def rows(database) -> list[int]:
    """Returns the number of rows on each replica, once it has caught up; those of WAKE left out."""
    return database.on_each(COUNT, "t")


def has_caught_up(database) -> bool:
    """Returns False while a server that comes back has no session in ZooKeeper yet."""
    try:
        rows(database)
    except ServerException:
        return False
    return True


def code_of(work: Callable[[], object]) -> int:
    with pytest.raises(ServerException) as caught:
        work()
    return caught.value.code


# An open quorum


def test_a_repeat_is_refused_while_its_quorum_is_open_unless_it_asks_for_none(database, background):
    with open_quorum(database, background) as first:
        for replica in range(3):
            answer = database.insert(replica, "t", BLOCK, insert_quorum=2)
            assert answer == codes.QUORUM_OF_PREVIOUS_IS_OPEN
        assert database.insert(1, "t", OTHER, insert_quorum=2) == codes.QUORUM_OF_PREVIOUS_IS_OPEN
        assert database.insert(1, "t", BLOCK) == codes.ACKED
        assert database.ask(1, COUNT) == 0
        assert first.result() == codes.UNKNOWN_STATUS
        assert database.insert(0, "t", BLOCK, insert_quorum=2) == codes.QUORUM_OF_PREVIOUS_IS_OPEN
    assert acked(database, 0, BLOCK)
    assert rows(database) == [2, 2, 2]


def test_a_twin_in_a_race_is_acked_before_the_quorum_and_its_repeat_is_refused(
    replicated_database, background
):
    """Both inserts pass the check of the quorum before one of them commits."""
    size = 400_000
    columns = [np.arange(size, dtype=np.uint64), np.arange(size, dtype=np.uint64) * 7919 % 10_007]
    settings = {"insert_quorum": 3, "insert_quorum_timeout": 1500, "insert_block_size": size}

    def insert(replica: int, table: str, start: Barrier | None = None) -> int:
        with replicated_database.client(
            replica, settings={**settings, "use_numpy": True}
        ) as client:
            client.execute("SELECT 1")
            if start:
                start.wait()
            try:
                client.execute(f"INSERT INTO {table} VALUES", columns, columnar=True)
            except ServerException as error:
                return int(error.code)
        return codes.ACKED

    def is_acked_early(table: str) -> bool:
        replicated_database.create_table(table, "a UInt64, b UInt64", order_by="(b, a)")
        with replicated_database.no_fetches(table, 2, wake=[(0, 0)]):
            start = Barrier(2)
            twins = [background(insert, replica, table, start) for replica in (0, 1)]
            early = sorted(twin.result() for twin in twins) == [codes.ACKED, codes.UNKNOWN_STATUS]
            if early:
                assert insert(0, table) == codes.QUORUM_OF_PREVIOUS_IS_OPEN
        return early

    tables = [f"race_{number}" for number in range(10)]
    table = next((table for table in tables if is_acked_early(table)), None)
    assert table is not None
    assert until(lambda: insert(0, table) == codes.ACKED, 60)
    assert replicated_database.counts(table) == [size + 1] * 3


def test_of_two_quorum_inserts_into_a_table_one_is_refused_and_retries_bring_all(
    database, background
):
    database.create_table("u", "a UInt64, s String", order_by="a")
    answers: list[int] = []

    def write(replica: int, table: str, begin: int) -> None:
        for number in range(begin, begin + 20):
            while answer := database.insert(replica, table, [(number, "")], insert_quorum=2):
                answers.append(answer)

    writers = [background(write, *each) for each in [(0, "t", 0), (1, "t", 100), (2, "u", 0)]]
    for writer in writers:
        writer.result()
    assert set(answers) == {codes.QUORUM_OF_PREVIOUS_IS_OPEN}
    assert (rows(database), database.counts("u")) == ([40] * 3, [20] * 3)


def test_inserts_into_two_tables_do_not_refuse_each_other(database, background):
    database.create_table("u", "a UInt64, s String", order_by="a")
    with open_quorum(database, background):
        assert database.insert(1, "u", OTHER, insert_quorum=2) == codes.ACKED


def test_a_running_query_id_is_refused_by_its_server_only(database, background):
    with open_quorum(database, background) as first:
        assert is_running(database, "first")
        assert not is_running(database, "first", replica=1)
        again = (BLOCK, "first")
        assert database.insert(0, "t", *again, insert_quorum=2) == codes.QUERY_IS_RUNNING
        assert database.insert(1, "t", *again, insert_quorum=2) == codes.QUORUM_OF_PREVIOUS_IS_OPEN
        kill = "KILL QUERY WHERE query_id = 'first' ASYNC"
        assert code_of(lambda: database.order(0, kill)) == codes.UNKILLABLE
        first.result()
        assert not is_running(database, "first")
    assert acked(database, 0, BLOCK)


def test_the_insert_of_a_dead_client_waits_for_its_quorum_and_keeps_its_block(database):
    settings = {"insert_quorum": 2, "insert_quorum_timeout": 2000}
    with database.no_fetches("t", 1, 2, wake=WAKE), ThreadPoolExecutor(1) as pool:
        client = database.client(0, settings=settings)
        insert = pool.submit(client.execute, "INSERT INTO t VALUES", BLOCK, query_id="dead")
        assert until(lambda: database.ask(0, COUNT) == 2, 20)
        client.connection.socket.shutdown(socket.SHUT_RDWR)
        with pytest.raises(EOFError):
            insert.result()
        assert is_running(database, "dead")
        assert until(lambda: not is_running(database, "dead"), 20)
    assert acked(database, 1, BLOCK)
    assert rows(database) == [2, 2, 2]


def test_too_many_parts_refuse_a_new_block_and_a_stored_one(replicated_database):
    settings = {
        "parts_to_throw_insert": 3,
        "max_bytes_to_merge_at_max_space_in_pool": 1,
    }
    replicated_database.create_table("t", "a UInt64, s String", order_by="a", settings=settings)
    answers = [replicated_database.insert(0, "t", [(number, "")]) for number in range(4)]
    assert answers == [codes.ACKED, codes.ACKED, codes.ACKED, codes.TOO_MANY_PARTS]
    assert replicated_database.insert(0, "t", [(0, "")]) == codes.TOO_MANY_PARTS


# Reading with sequential consistency


def seen(database, replica: int) -> int:
    return int(database.ask(replica, COUNT, select_sequential_consistency=1))


def is_caught_up(database, replica: int) -> bool:
    query = (
        "SELECT inserts_in_queue = 0 AND log_pointer > log_max_index FROM system.replicas "
        f"WHERE database = '{database.name}' AND table = 't'"
    )
    return bool(database.ask(replica, query))


def test_a_quorum_block_is_seen_by_each_replica_that_answers(database):
    assert database.insert(0, "t", BLOCK, insert_quorum=2) == codes.ACKED
    for replica in range(3):
        assert until(lambda replica=replica: is_caught_up(database, replica), 20)
        assert seen(database, replica) == 2


def test_an_open_quorum_and_blocks_without_one_are_hidden(database, background):
    with open_quorum(database, background) as first:
        assert [seen(database, replica) for replica in range(3)] == [0, 0, 0]
        first.result()
    assert acked(database, 0, BLOCK)
    database.insert(0, "t", OTHER)
    assert (seen(database, 0), database.ask(0, COUNT)) == (2, 3)


def test_a_replica_that_lacks_the_last_quorum_block_says_so_but_not_that_it_lacks_another(
    database,
):
    with database.no_fetches("t", 2, wake=WAKE):
        assert database.insert(0, "t", BLOCK, insert_quorum=2) == codes.ACKED
        assert code_of(lambda: seen(database, 2)) == codes.LACKS_LAST_QUORUM_BLOCK
        assert database.insert(2, "t", OTHER, insert_quorum=2) == codes.ACKED
        # Where replica 1 was the other one of the quorum, replica 0 fetches a little later.
        assert until(lambda: database.ask(0, COUNT) == 3, 20)
        assert (seen(database, 0), seen(database, 2)) == (3, 1)
        assert (is_caught_up(database, 0), is_caught_up(database, 2)) == (True, False)


# Servers that are away


def test_too_few_live_replicas_refuse_a_new_block_and_a_stored_one(own_database):
    database = own_database
    assert database.insert(0, "t", BLOCK, insert_quorum=2) == codes.ACKED
    for replica in (1, 2):
        database.replicas[replica].kill()
    live = "SELECT active_replicas FROM system.replicas WHERE table = 't'"
    assert until(lambda: database.ask(0, live) == 1, 30)
    for block in (OTHER, BLOCK):
        assert database.insert(0, "t", block, insert_quorum=2) == codes.TOO_FEW_LIVE_REPLICAS
    assert database.insert(0, "t", OTHER) == codes.ACKED


@pytest.mark.parametrize("end", ["paused", "killed"])
def test_without_zookeeper_a_replica_answers_plain_queries_only(own_database, end):
    database, zookeeper = own_database, own_database.replicas.zookeeper
    assert database.insert(0, "t", BLOCK, insert_quorum=2) == codes.ACKED
    zookeeper.pause() if end == "paused" else zookeeper.kill()
    assert database.insert(0, "t", OTHER, insert_quorum=2) in (
        codes.NO_ZOOKEEPER,
        codes.READONLY,
        codes.ZOOKEEPER_LOST,
    )
    assert until(lambda: database.insert(0, "t", OTHER, insert_quorum=2) == codes.READONLY, 30)
    assert code_of(lambda: seen(database, 0)) == codes.ZOOKEEPER_LOST
    assert not is_caught_up(database, 0)
    assert database.ask(0, COUNT) == 2
    if end == "paused":
        zookeeper.resume()
    else:
        zookeeper.start()
    assert acked(database, 0, OTHER)
    database.insert(0, "t", WAKE)
    assert rows(database) == [3, 3, 3]


@pytest.mark.parametrize("end", ["paused", "killed"])
def test_a_server_lost_with_the_only_copy_of_a_block_holds_others_up_and_leaves_one_copy(
    own_database, background, end
):
    database, holder = own_database, own_database.replicas[0]
    with open_quorum(database, background, timeout_seconds=30):
        holder.pause() if end == "paused" else holder.kill()
        for block in (BLOCK, OTHER):
            answer = database.insert(1, "t", block, insert_quorum=2)
            assert answer == codes.QUORUM_OF_PREVIOUS_IS_OPEN
        database.allow_fetches("t", 1, 2, wake=WAKE)
        assert acked(database, 1, BLOCK)
        if end == "paused":
            holder.resume()
        else:
            holder.start()
            holder.wait_ready()
        assert until(lambda: has_caught_up(database), 60)
    assert rows(database) == [2, 2, 2]
