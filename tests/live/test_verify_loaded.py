"""`sluice verify check` over real loaders and replicas: what they load gives no alarm, and with
`--rows` every planted row is found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from aggregator.verifier.check import Check
from deploy.lab.traffic import Shape, TrafficRecord
from deploy.lab.wait import until
from replicator.config.names import dead_letter_topic
from tests.live.feed_ground import COLUMNS, FeedGround, committed, documents
from tests.live.topics import alter
from tests.live.verified import PATIENCE_SECONDS


@pytest.mark.parametrize("topic", ["transactional", "compacted"])
def test_real_loaders_that_are_killed_give_no_alarm(
    tmp_path, east, redis, replicated_database, opened, topic
):
    """The source has aborted transactions, control records and tombstones, or was compacted."""
    settings = "reference_seconds = 1.0"
    ground = FeedGround(tmp_path, east, redis, replicated_database, settings=settings, partitions=2)
    feed = opened.enter_context(ground)
    replicated_database.create_table(feed.topic, COLUMNS, order_by="(_offset, _row)")
    records = list(documents(600, partitions=2))
    if topic == "transactional":
        feed.send(records, Shape(transaction_records=20, abort_every=3))
    else:
        config = {
            "cleanup.policy": "compact",
            "segment.ms": "100",
            "min.cleanable.dirty.ratio": "0.001",
            "delete.retention.ms": "3600000",
        }
        alter(east, feed.topic, config)
        feed.send([*records, *(replace(each, value=None) for each in records[::3])])
        left = len(records) - 200
        # A segment is closed by the next record once it is old enough.
        assert until(
            lambda: (
                feed.send(documents(2, first=9_000, partitions=2))
                and len(feed.wanted()) <= left + 40
            ),
            PATIENCE_SECONDS,
            every_seconds=0.3,
        )
        # The comparison at the end needs a log that stays as it is.
        alter(east, feed.topic, {"cleanup.policy": "delete"})
    feed.lead()
    for _ in range(2):
        process = feed.load_apart()
        feed.wait_count(50)
        process.kill()
        feed.send(documents(100, first=2_000, partitions=2))
    feed.load()
    feed.assert_exact()
    assert until(lambda: all(each.up_to for each in feed.intents().values()), PATIENCE_SECONDS)
    appliance = feed.appliance.model_copy(update={"routes": ()})
    found = Check(appliance, "east", 0, 30.0).run()
    (row,) = [row for row in found.rows if row.owner == f"feed {feed.feed}"]
    assert not found.judgements and not found.problems
    assert not found.has_unknown
    assert (row.partitions, row.entries >= 10) == (2, True)


# -- rows


@pytest.fixture
def loaded(tmp_path, aggregate, redis, replicated_database, opened):
    """A feed with 600 records in two partitions, all loaded; some transactions were aborted."""
    ground = FeedGround(
        tmp_path,
        aggregate,
        redis,
        replicated_database,
        settings="reference_seconds = 1.0",
        partitions=2,
    )
    feed = opened.enter_context(ground)
    replicated_database.create_table(feed.topic, COLUMNS, order_by="(_offset, _row)")
    shape = Shape(transaction_records=50, abort_every=4)
    feed.send(documents(800, partitions=2), shape)
    feed.lead()
    feed.load()
    feed.assert_exact()
    assert until(lambda: all(each.up_to for each in feed.intents().values()), PATIENCE_SECONDS)
    return feed


def compared(feed, **changes):
    appliance = feed.appliance.model_copy(update={"routes": (), **changes})
    return Check(appliance, "east", 0, 30.0, with_rows=True).run()


def test_rows_are_found_to_be_those_of_the_records_on_every_replica(loaded):
    found = compared(loaded)
    assert not found.has_anomaly and not found.has_unknown and not found.problems
    assert [(each.expected, each.found) for each in found.row_counts] == [(600, 600)] * 3
    assert len({each.replica for each in found.row_counts}) == 3


def plant(feed, id_, row):
    """Inserts a copy of the row with this id, under another number of the row in its record."""
    columns = f"id, 'planted', price, _cluster, _topic, _partition, _offset, toUInt32({row})"
    with feed.database.client(settings={"insert_quorum": 2}) as client:
        client.execute(
            f"INSERT INTO {feed.topic} SELECT {columns} FROM {feed.topic} "
            f"WHERE id = {id_} AND name != 'planted'"
        )


def test_rows_that_are_missing_surplus_or_doubled_are_named_by_their_offsets(loaded):
    rows = loaded.rows()
    gone, twice, more = rows[10], rows[20], rows[30]
    plant(loaded, twice.id, 0)
    plant(loaded, more.id, 7)
    # 18.16 deletes nothing from the last part of a quorum: the planted rows have to be behind.
    with loaded.database.client() as client:
        client.execute(f"ALTER TABLE {loaded.topic} DELETE WHERE id = {gone.id}")
    left = [len(rows) + 2 - 1] * 3
    count = f"SELECT count() FROM {loaded.topic}"
    assert until(lambda: loaded.database.on_each(count) == left, PATIENCE_SECONDS)
    found = compared(loaded)
    assert found.has_anomaly
    for each in found.row_counts:
        assert (each.missing, each.surplus, each.doubled) == (1, 1, 1), each
        assert sorted(each.examples) == sorted(
            f"{what}: partition {row.partition}, offsets {row.offset}"
            for what, row in (("missing", gone), ("doubled", twice), ("surplus", more))
        )


def test_dead_letters_are_compared_with_their_records(loaded):
    headers = [("trace", b"t" * 100)]
    before = {at: each.offset for at, each in loaded.intents().items()}
    loaded.send(TrafficRecord(at % 2, b"key", b"no JSON %d" % at, headers) for at in range(4))

    def are_dead() -> bool:
        now = loaded.intents()
        return all(now[at].dead_letters == 2 and now[at].offset > before[at] + 1 for at in before)

    assert until(are_dead, PATIENCE_SECONDS)
    found = compared(loaded)
    assert not found.has_anomaly and not found.has_unknown and not found.problems
    letters = dead_letter_topic(loaded.feed)
    (count,) = [each for each in found.row_counts if each.table == letters]
    assert (count.expected, count.found) == (4, 4)
    # Of two letters one comes back, with another value.
    other = next(each for each in committed(loaded.cluster, letters) if each.partition() == 0)
    admin = loaded.cluster.admin()
    (done,) = admin.delete_records([KafkaTopicPartition(letters, 0, -1)]).values()
    done.result(30)
    producer = Producer({**loaded.cluster.librdkafka_options(), "acks": "all"})
    producer.produce(letters, b"other", other.key(), 0, headers=other.headers())
    assert producer.flush(30) == 0
    found = compared(loaded)
    assert found.has_anomaly
    (count,) = [each for each in found.row_counts if each.table == letters]
    assert (count.missing, count.changed, count.found) == (1, 1, 3), count
    # What was in a table that is gone is not passed over.
    loaded.database.execute(f"DROP TABLE {loaded.topic}")
    (count,) = compared(loaded).row_counts
    doubts = [each for each in count.doubts if "there is no table" in each]
    assert len(doubts) == 2, count


def test_rows_behind_the_end_of_a_log_are_rows_of_a_former_one(loaded):
    """A version that knew no incarnations has accepted a topic that was created again."""
    with loaded.database.client(settings={"insert_quorum": 2}) as client:
        client.execute(
            f"INSERT INTO {loaded.topic} SELECT id, name, price, _cluster, _topic, _partition, "
            f"_offset + 100000, _row FROM {loaded.topic} WHERE _partition = 1 AND _offset < 4"
        )
        former = client.execute(f"SELECT count() FROM {loaded.topic} WHERE _offset >= 100000")
    for each in (found := compared(loaded)).row_counts:
        assert (each.missing, each.surplus, each.doubled) == (0, *former[0], 0), each
        assert "rows of a former log" in each.examples[0]
    assert found.has_anomaly
    loaded.database.order(0, f"ALTER TABLE {loaded.topic} ADD COLUMN _incarnation UInt64")
    assert compared(loaded).has_anomaly


def test_a_replica_whose_rows_have_other_columns_is_found(loaded):
    table, other = loaded.topic, 2
    query = f"SELECT * FROM {table}"
    with loaded.database.client(other) as client:
        rows = client.execute(query)
        client.execute(f"DROP TABLE {table}")
        client.execute(f"CREATE TABLE {table} ({COLUMNS}) ENGINE = MergeTree() ORDER BY _offset")
        rows[40] = (rows[40][0], "another name", *rows[40][2:])
        client.execute(f"INSERT INTO {table} VALUES", rows)
    found = compared(loaded)
    counts = [(each.missing, each.surplus, each.doubled) for each in found.row_counts]
    assert counts == [(0, 0, 0)] * 3
    assert sorted(each.changed for each in found.row_counts) == [0, 0, 1]
    assert found.has_anomaly


def test_a_value_that_is_not_the_records_is_named(loaded):
    row, more = loaded.rows()[41], loaded.rows()[30]
    # 18.16 changes nothing in the last part of a quorum.
    plant(loaded, more.id, 7)
    with loaded.database.client() as client:
        client.execute(f"ALTER TABLE {loaded.topic} UPDATE name = 'wrong' WHERE id = {row.id}")
    count = f"SELECT count() FROM {loaded.topic} WHERE name = 'wrong'"
    assert until(lambda: loaded.database.on_each(count) == [1] * 3, PATIENCE_SECONDS)
    found = compared(loaded)
    assert found.has_anomaly and not found.has_unknown
    texts = [text for each in found.row_counts for text in each.examples if "changed" in text]
    where = f"changed: partition {row.partition}, offset {row.offset}"
    assert texts == [f"{where}: name: the record has {row.name.encode()}, and the table b'wrong'"]


def test_a_table_without_coordinates_is_not_taken_for_right(loaded):
    with loaded.database.client() as client:
        client.execute(f"ALTER TABLE {loaded.topic} DROP COLUMN _cluster")
    found = compared(loaded)
    assert found.has_unknown and not found.has_anomaly
    assert {text for each in found.row_counts for text in each.doubts} == {
        "the table has no coordinate columns"
    }


def test_a_replica_that_is_away_is_a_problem_and_the_others_are_compared(loaded):
    feed = loaded.appliance.feed(loaded.feed)
    (shard,) = feed.shards
    away = replace(shard.replicas[0], port=1)
    changed = shard.model_copy(update={"replicas": (*shard.replicas, away)})
    feeds = {loaded.feed: feed.model_copy(update={"shards": (changed,)})}
    found = compared(loaded, feeds=feeds)
    assert any("127.0.0.1:1" in text for text in found.problems)
    answers = {each.replica: (each.found, each.doubts) for each in found.row_counts}
    assert answers.pop("127.0.0.1:1") == (0, ["the replica did not answer"])
    assert list(answers.values()) == [(600, [])] * 3
    assert not found.has_anomaly and found.has_unknown
