"""Blocks are inserted whole and once, and every failure is told with what follows from it."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import pytest

from aggregator.store.insert_errors import ErrorClass
from aggregator.store.insertion import InsertFailed, InsertOptions, insert, insert_nothing
from aggregator.store.schema_reader import read_schemas
from aggregator.store.server_features import read_features
from aggregator.store.shard_store import NotStored
from deploy.lab.clickhouse import READER
from tests.live.stored import COLUMNS, block_of, decoded, store_of

pytestmark = pytest.mark.stores

CONTENT = "SELECT groupArray((day, text, number, _cluster, _topic, _partition, _offset, _row)) FROM"


def options(query_id: str, quorum: int = 0, timeout_seconds: float = 5.0) -> InsertOptions:
    return InsertOptions(
        query_id=query_id, quorum=quorum, token=query_id, timeout_seconds=timeout_seconds
    )


@pytest.fixture
def flights(shared_clickhouse, clickhouse_database):
    """A client, its database, and the schema of its table `flights`."""
    with shared_clickhouse.client(clickhouse_database) as client:
        client.execute(f"CREATE TABLE flights ({COLUMNS}) ENGINE = MergeTree ORDER BY _offset")
        yield client, clickhouse_database, read_schemas(client, clickhouse_database)["flights"]


@pytest.fixture
def make_store(shared_clickhouse, clickhouse_database, tmp_path):
    """`make_store(address)`: a store of the shared server."""
    made = []

    def make(*addresses, **options):
        made.append(
            store_of(
                addresses or (shared_clickhouse.address(),),
                clickhouse_database,
                tmp_path,
                **options,
            )
        )
        return made[-1]

    yield make
    for store in made:
        store.close()


def test_a_block_is_stored_as_it_was_encoded(flights):
    client, database, schema = flights
    block = block_of(schema, decoded(range(10, 14), days=2))
    insert(client, read_features(client), database, "flights", block.native, options("one"))
    place = (b"west regional".decode(), "flights", 3)
    assert client.execute(f"{CONTENT} flights")[0][0] == [
        (offset % 2, f"text {offset}", offset if offset % 2 else None, *place, offset, 0)
        for offset in range(10, 14)
    ]


def test_a_block_of_a_million_rows_is_one_part_and_its_connection_is_used_again(flights):
    client, database, schema = flights
    features = read_features(client)
    block = block_of(schema, decoded(range(1_048_576)))
    insert(client, features, database, "flights", block.native, options("large"))
    insert(client, features, database, "flights", block.native, options("large"))
    parts = client.execute(
        "SELECT rows FROM system.parts WHERE database = %(d)s AND level = 0 "
        "AND min_block_number = max_block_number",
        {"d": database},
    )
    assert parts == [(1_048_576,), (1_048_576,)]


def test_a_repeated_block_is_stored_once_on_all_replicas(replicated_database):
    replicated_database.create_table("flights", COLUMNS, order_by="_offset")
    for replica in (0, 1, 0):
        with replicated_database.client(replica) as client:
            schema = read_schemas(client, replicated_database.name)["flights"]
            insert(
                client,
                read_features(client),
                replicated_database.name,
                "flights",
                block_of(schema, decoded(range(1000))).native,
                options("same", quorum=2),
            )
            names = [column.name for column in schema.inserted]
            features, name = read_features(client), replicated_database.name
            before = client.connection.socket.gettimeout()
            insert_nothing(client, features, name, "flights", names, options("none", 0, 7.0))
            assert client.connection.socket.gettimeout() == before != 7.0
    assert replicated_database.counts("flights") == [1000, 1000, 1000]


def test_equal_rows_with_other_coordinates_are_all_stored(replicated_database):
    replicated_database.create_table("flights", COLUMNS, order_by="_offset")
    with replicated_database.client() as client:
        schema = read_schemas(client, replicated_database.name)["flights"]
        for begin in (0, 1000):
            rows = decoded([begin, begin + 2])
            for name, column in decoded([0, 2]).columns.items():
                rows.columns[name] = column  # type: ignore[index]
            block = block_of(schema, rows).native
            features = read_features(client)
            insert(client, features, replicated_database.name, "flights", block, options("x"))
    assert replicated_database.counts("flights") == [4, 4, 4]


def test_columns_that_a_block_leaves_out_get_their_defaults(flights):
    client, database, schema = flights
    client.execute("ALTER TABLE flights ADD COLUMN tail String DEFAULT 'N0'")
    insert(
        client,
        read_features(client),
        database,
        "flights",
        block_of(schema, decoded([7])).native,
        options("x"),
    )
    assert client.execute("SELECT _offset, tail FROM flights") == [(7, "N0")]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("ALTER TABLE flights DROP COLUMN text", 16),
        ("ALTER TABLE flights MODIFY COLUMN text Nullable(String)", 16),
        ("DROP TABLE flights", 60),
    ],
)
def test_a_table_that_changed_is_told_before_anything_is_sent(flights, make_store, change, code):
    client, _, schema = flights
    store = make_store()
    client.execute(change)
    with pytest.raises(NotStored) as caught:
        store.insert(*_whole(block_of(schema, decoded([7]))))
    problem = caught.value.problem
    assert (problem.error_class, problem.code) == (ErrorClass.REFRESH, code)
    assert not problem.may_be_stored


def test_a_user_without_rights_is_told_what_to_be_granted(flights, make_store, shared_clickhouse):
    _, _, schema = flights
    store = make_store(shared_clickhouse.address(user=READER))
    with pytest.raises(NotStored, match="grant the user SELECT and INSERT") as caught:
        store.insert(*_whole(block_of(schema, decoded([7]))))
    problem = caught.value.problem
    assert (problem.error_class, problem.may_be_stored) == (ErrorClass.STOP, False)


def test_an_insert_without_rows_tells_whether_a_table_takes_blocks_and_stores_nothing(
    flights, make_store, shared_clickhouse
):
    client, database, schema = flights
    store, stranger = make_store(), make_store(shared_clickhouse.address(user=READER))
    store.insert_nothing(schema)
    store.insert(*_whole(block_of(schema, decoded([7]))))
    store.insert_nothing(schema)
    parts = "SELECT count() FROM system.parts WHERE database = %(d)s AND active"
    assert client.execute(parts, {"d": database}) == [(1,)]
    with pytest.raises(NotStored) as refused:
        stranger.insert_nothing(schema)
    client.execute("DROP TABLE flights")
    with pytest.raises(NotStored) as gone:
        store.insert_nothing(schema)
    classes = [each.value.problem.error_class for each in (refused, gone)]
    assert classes == [ErrorClass.STOP, ErrorClass.REFRESH]


def test_too_many_parts_hold_the_table(flights, make_store):
    client, database, _ = flights
    client.execute(
        f"CREATE TABLE full ({COLUMNS}) ENGINE = MergeTree ORDER BY _offset SETTINGS "
        "parts_to_throw_insert = 3, parts_to_delay_insert = 2, "
        "max_bytes_to_merge_at_max_space_in_pool = 1"
    )
    schema = read_schemas(client, database)["full"]
    store = make_store()
    for number in range(3):
        store.insert(*_whole(block_of(schema, decoded([number]))))
    with pytest.raises(NotStored) as caught:
        store.insert(*_whole(block_of(schema, decoded([4]))))
    problem = caught.value.problem
    assert (problem.error_class, problem.may_be_stored) == (ErrorClass.HOLD_TABLE, False)
    assert store.most_parts("full") == 3


def test_a_replica_that_is_away_is_left_for_the_next_and_comes_first_again(
    flights, make_store, shared_clickhouse
):
    _, _, schema = flights
    store = make_store(
        "clickhouse://sluice@127.0.0.1:1", shared_clickhouse.address(), away_seconds=0.5
    )
    with pytest.raises(NotStored) as caught:
        store.insert(*_whole(block_of(schema, decoded([7]))))
    problem = caught.value.problem
    assert (problem.error_class, problem.may_be_stored) == (ErrorClass.OTHER_REPLICA, False)
    store.insert(*_whole(block_of(schema, decoded([7]))))
    time.sleep(0.5)
    with pytest.raises(NotStored):
        store.insert(*_whole(block_of(schema, decoded([8]))))


def test_a_server_that_stands_still_leaves_the_block_unknown(own_clickhouse, tmp_path):
    with own_clickhouse.client() as client:
        client.execute(f"CREATE TABLE flights ({COLUMNS}) ENGINE = MergeTree ORDER BY _offset")
    store = store_of([own_clickhouse.address()], "default", tmp_path, insert_seconds=1.0)
    with closing(store):
        block = block_of(store.schemas()["flights"], decoded(range(500_000)))
        pause = threading.Timer(0.05, own_clickhouse.pause)
        pause.start()
        problem = _repeated_until_it_fails(store, block)
        pause.join()
        own_clickhouse.resume()
    assert problem.error_class in (ErrorClass.SAME_AGAIN, ErrorClass.OTHER_REPLICA)
    assert problem.leaves_replica


def test_an_open_quorum_is_told_as_unknown_and_its_repeat_as_not_stored(
    replicated_database, tmp_path
):
    database = replicated_database
    database.create_table("flights", COLUMNS, order_by="_offset")
    for replica in (1, 2):
        with database.client(replica) as client:
            client.execute("SYSTEM STOP FETCHES flights")
    store = store_of(
        database.replicas.addresses(), database.name, tmp_path, quorum=2, insert_seconds=1.0
    )
    with closing(store):
        block = block_of(store.schemas()["flights"], decoded(range(10)))
        store.tables()
        problems = []
        for _ in range(2):
            with pytest.raises(NotStored) as caught:
                store.insert(*_whole(block))
            problems.append(caught.value.problem)
    assert [problem.code for problem in problems] == [319, 286]
    assert [problem.may_be_stored for problem in problems] == [True, False]
    for replica in (1, 2):
        with database.client(replica) as client:
            client.execute("SYSTEM START FETCHES flights")


def test_a_second_insert_of_the_name_is_refused_while_the_first_runs(replicated_database, tmp_path):
    database = replicated_database
    database.create_table("flights", COLUMNS, order_by="_offset")
    for replica in (1, 2):
        with database.client(replica) as client:
            client.execute("SYSTEM STOP FETCHES flights")
    store = store_of(
        database.replicas.addresses(), database.name, tmp_path, quorum=2, insert_seconds=3.0
    )
    with closing(store):
        block = block_of(store.schemas()["flights"], decoded(range(10)))
        first = threading.Thread(target=_ignoring(store.insert), args=_whole(block))
        first.start()
        codes = []
        while not codes or codes[-1] not in (216, None):
            with pytest.raises(NotStored) as caught:
                store.insert(*_whole(block))
            codes.append(caught.value.problem.code)
        first.join()
    assert codes[-1] == 216
    for replica in (1, 2):
        with database.client(replica) as client:
            client.execute("SYSTEM START FETCHES flights")


def test_an_error_of_the_caller_is_no_insert_error(flights):
    client, database, schema = flights
    block = block_of(schema, decoded([1])).native
    with pytest.raises(InsertFailed) as caught:
        insert(client, read_features(client), database, "absent", block, options("x"))
    assert not caught.value.was_sent


def _whole(block):
    return block, block.native


def _repeated_until_it_fails(store, block):
    while True:
        try:
            store.insert(*_whole(block))
        except NotStored as error:
            return error.problem


def _ignoring(act):
    def ignoring(*arguments):
        with pytest.raises(NotStored):
            act(*arguments)

    return ignoring
