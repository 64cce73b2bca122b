"""Tables that change while a feed is loaded: columns come and go, tables are dropped and created
again, and each record is in the table once, or is a dead letter."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import replace

import pytest
from clickhouse_driver.errors import ServerException

from aggregator.loader.report_store import ReportStore
from aggregator.loader.reporting import TOO_MANY_PARTS
from aggregator.tables.table_schema import Column, TableSchema
from aggregator.verifier.table_rows import LogRange, TopicInTable
from deploy.lab.clickhouse_replicas import replicated_engine
from deploy.lab.traffic import Shape, TrafficRecord
from deploy.lab.wait import until
from tests.live.feed_ground import COLUMNS, FeedGround, documents
from tests.live.feed_oracle import assert_exact, findings
from tests.live.feed_steps import Step, begin_with_end
from tests.live.test_feed_kills import await_death

SMALL = Shape(batch_records=20)


@pytest.fixture
def make_feed(tmp_path, aggregate, redis, replicated_database, opened):
    """`make_feed(has_table=False)`: a feed of one table, named as its topic."""

    def make(*, has_table: bool = True, **options: object) -> FeedGround:
        options.setdefault("settings", "reference_seconds = 1")
        ground = opened.enter_context(
            FeedGround(tmp_path, aggregate, redis, replicated_database, **options)
        )
        if has_table:
            create(ground)
        ground.lead()
        return ground

    return make


def reported(feed: FeedGround, table: str) -> str | None:
    """Returns what the loader says of a table of partition 0; None if it says nothing."""
    with ReportStore(feed.appliance.region("east").redis_url()) as store:
        states = [
            report.tables[table].state
            for report in store.read(feed.feed).values()
            if table in report.tables
        ]
    return states[0] if states else None


def create(feed: FeedGround, columns: str = COLUMNS) -> None:
    """Creates the feed's table."""
    feed.database.create_table(feed.topic, columns, order_by="(_partition, _offset, _row)")


def alter(feed: FeedGround, change: str) -> None:
    """Alters the feed's table, and waits until every replica has done it."""
    with feed.database.client(0, settings={"replication_alter_partitions_sync": 2}) as client:
        client.execute(f"ALTER TABLE {feed.topic} {change}")


def with_field(record: TrafficRecord, name: str, value: object) -> TrafficRecord:
    """Returns a record whose document has one more field."""
    document = {**json.loads(record.value or b"{}"), name: value}
    return replace(record, value=json.dumps(document).encode())


def lettered(feed: FeedGround) -> list[int]:
    """Returns the offsets of the dead letters."""
    return sorted(int(headers["sluice.offset"]) for _, headers in feed.dead_letters())


def test_columns_come_and_go_while_records_are_loaded(make_feed):
    feed = make_feed()
    feed.load()
    sent = 0
    for change in ("ADD COLUMN extra String", "DROP COLUMN extra", "ADD COLUMN more UInt8", ""):
        for _ in range(5):
            sent += feed.send(documents(60, first=sent), SMALL)
            time.sleep(0.2)  # blocks are to be many
        if change:
            alter(feed, change)
    assert_exact(feed)


def test_columns_that_an_alter_adds_are_loaded_and_one_that_cannot_be_is_named(make_feed, caplog):
    feed = make_feed()
    feed.load()
    feed.send(documents(60), SMALL)
    deep = f"{'Array(' * 20}UInt8{')' * 20}"
    pair = "Tuple(number UInt8, texts Array(Nullable(String)), at DateTime)"
    alter(feed, f"ADD COLUMN deep {deep}, ADD COLUMN pair {pair}")
    feed.send(documents(60, first=60), SMALL)
    assert until(lambda: "event=columns-not-loaded" in caplog.text, 30)
    assert f"table={feed.topic}: each row gets the default of deep {deep}" in caplog.text
    held = {"number": 7, "texts": ["x", None], "at": "2020-01-01 00:00:00"}
    feed.send([with_field(each, "pair", held) for each in documents(60, first=120)], SMALL)
    assert_exact(feed)
    schema = TableSchema(feed.topic, (Column("pair", pair),))
    with feed.database.client(0) as client:
        stored = TopicInTable(client, feed.database.name, schema, "east aggregate", feed.topic)
        cells = [row["pair"] for _, _, row in stored.values(0, LogRange(0, 180))]
    at = 1_577_836_800
    assert cells == [(0, [], 0)] * 120 + [(7, [b"x", None], at)] * 60


@pytest.mark.parametrize("step", [Step.INTENT_COMMITTED, Step.HALF_SENT, Step.STORED])
@pytest.mark.parametrize("change", ["ADD COLUMN extra String DEFAULT 'x'", "DROP COLUMN spare"])
def test_a_block_that_is_repeated_after_an_alter_is_stored_once(make_feed, step, change):
    feed = make_feed(has_table=False)
    create(feed, f"{COLUMNS}, spare Nullable(String)")
    feed.send(documents(300), SMALL)
    await_death(begin_with_end(feed, step))
    alter(feed, change)
    feed.load()
    feed.send(documents(50, first=300))
    assert_exact(feed)


@pytest.mark.parametrize("is_seen", [True, False])
def test_records_that_a_changed_column_does_not_take_become_dead_letters(make_feed, is_seen):
    feed = make_feed()
    step = Step.INTENT_WANTED if is_seen else Step.INTENT_COMMITTED
    feed.send(documents(300), SMALL)
    await_death(begin_with_end(feed, step))
    alter(feed, "MODIFY COLUMN id UInt8")
    feed.load()
    feed.wait_count(256)
    assert until(lambda: len(lettered(feed)) >= 44, 30), lettered(feed)
    assert lettered(feed) == list(range(256, 300))
    assert [row.offset for row in feed.rows()] == list(range(256))
    assert not findings(feed)


def test_dead_letters_of_a_missing_table_do_not_become_rows_once_it_is_there(make_feed):
    feed = make_feed(has_table=False)
    feed.send(documents(40))
    await_death(begin_with_end(feed, Step.INTENT_COMMITTED))
    assert lettered(feed) == list(range(40))
    create(feed)
    feed.load()
    feed.send(documents(10, first=40))
    feed.wait_count(10)
    assert [row.offset for row in feed.rows()] == list(range(40, 50))
    assert lettered(feed) == list(range(40))
    assert not findings(feed)


def test_each_record_of_a_missing_table_is_a_dead_letter_however_large_its_headers_are(make_feed):
    feed = make_feed(has_table=False)
    headers = [("trace", b"t" * 5000)]
    feed.send(TrafficRecord(0, None, b"%d" % at, headers) for at in range(5000))
    feed.load()
    assert until(lambda: feed.intents()[0].offset == 5000, 60)
    assert feed.intents()[0].dead_letters == 5000
    assert lettered(feed) == list(range(5000))
    assert {headers["trace"] for _, headers in feed.dead_letters()} == {b"t" * 5000}
    assert not findings(feed)


def test_a_table_that_is_dropped_and_created_again_goes_on_with_what_is_in_flight(make_feed):
    feed = make_feed()
    feed.send(documents(300), SMALL)
    await_death(begin_with_end(feed, Step.INTENT_COMMITTED))
    feed.database.execute(f"DROP TABLE {feed.topic}")
    loading = feed.load()
    time.sleep(1.0)  # it looks for the table
    assert not loading.done()
    create(feed)
    feed.send(documents(100, first=300), SMALL)
    assert_exact(feed)
    assert not feed.dead_letters()


@pytest.mark.parametrize("lacks", ["table", "database"])
def test_a_replica_that_is_rebuilt_without_the_table_makes_no_dead_letters(make_feed, lacks):
    feed = make_feed()
    feed.load()
    feed.send(documents(60), SMALL)
    feed.wait_count(60)
    database = feed.database
    engine = replicated_engine(database.name, feed.topic)
    database.order(0, f"DROP TABLE {feed.topic}")
    if lacks == "database":
        with database.replicas[0].client() as client:
            client.execute(f"DROP DATABASE {database.name}")
    feed.publish()
    feed.load()
    feed.send(documents(100, first=60), SMALL)
    assert until(lambda: feed.count(replica=1) == 160, 30), feed.intents()
    with database.replicas[0].client() as client:
        client.execute(f"CREATE DATABASE IF NOT EXISTS {database.name}")
    order_by = "ORDER BY (_partition, _offset, _row)"
    database.order(0, f"CREATE TABLE {feed.topic} ({COLUMNS}) ENGINE = {engine} {order_by}")
    feed.send(documents(50, first=160), SMALL)
    assert_exact(feed)
    assert not feed.dead_letters()


def test_a_table_whose_merges_take_rows_away_gets_none_until_it_is_another(make_feed, caplog):
    feed = make_feed(has_table=False)
    plain = replicated_engine(feed.database.name, f"{feed.topic}_sums")
    summing = plain.replace("MergeTree", "SummingMergeTree")
    feed.database.execute(f"CREATE TABLE {feed.topic} ({COLUMNS}) ENGINE = {summing} ORDER BY name")
    feed.send(documents(60), SMALL)
    feed.load()
    refused = f"{feed.topic} has the engine ReplicatedSummingMergeTree: its merges sum rows up"
    assert until(lambda: refused in caplog.text, 20)
    assert not feed.count() and not feed.intents()[0].tables
    feed.database.execute(f"DROP TABLE {feed.topic}")
    create(feed)
    assert_exact(feed)
    assert not feed.dead_letters()


def test_a_table_with_too_many_parts_is_held_and_the_other_one_flows_on(make_feed):
    feed = make_feed(has_table=False, settings='table_from = "header"\nreference_seconds = 1')
    full, other = "full", "other"
    few = {"parts_to_throw_insert": 4, "parts_to_delay_insert": 3}
    for table, settings in ((full, few), (other, {})):
        feed.database.create_table(table, COLUMNS, order_by="(_offset, _row)", settings=settings)
    feed.database.execute(f"SYSTEM STOP MERGES {full}")
    feed.load()
    for turn in range(8):
        feed.send(documents(10, first=10 * turn, table=full))
        feed.send(documents(10, first=10 * turn, table=other))
        feed.wait_count(10 * (turn + 1), other)
    assert feed.count(full) <= 50
    assert until(lambda: reported(feed, full) == TOO_MANY_PARTS, 10)
    feed.database.execute(f"SYSTEM START MERGES {full}")
    for replica in range(3):
        with suppress(ServerException):  # only one of them leads
            feed.database.order(replica, f"OPTIMIZE TABLE {full}")
    assert_exact(feed, full, other)
