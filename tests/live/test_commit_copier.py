"""Commits of a real cluster, copied to Redis servers, also after either side was down."""

from __future__ import annotations

import logging
import struct
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from redis import Redis

from deploy.lab.kafka import KafkaCluster
from deploy.lab.wait import until
from replicator.config import topology
from replicator.groups.copies.commit_store import CommitStore
from replicator.kafka.admin.admin import Admin
from replicator.kafka.tail.consumer_offsets import TOPIC, CommitRecord, commit_tailer
from replicator.kafka.tail.tail_position import Portion
from replicator.kafka.tail.topic_tailer import TopicTailer
from tests.live.copying import PATIENCE_SECONDS, commit, events, until_fresh
from tests.live.copying import copying as copying_to


def follower_of(cluster: KafkaCluster, **options: Any) -> TopicTailer[CommitRecord]:
    settings = topology.KafkaCluster.model_validate(cluster.topology_table())
    return commit_tailer("west aggregate", settings, **options)


@contextmanager
def copying(cluster: KafkaCluster, url: str, **options: Any) -> Iterator[CommitStore]:
    """Runs a copier and yields the store for the test to read.

    Args:
        options: those of the tailer.
    """
    with CommitStore(url, "west") as store, copying_to(follower_of(cluster, **options), store):
        yield store


@pytest.fixture
def group() -> str:
    return f"group-{uuid.uuid4().hex[:8]}"


def copied(store: CommitStore, group: str) -> dict[tuple[str, int], int]:
    return {partition: it.offset for partition, it in store.commits([group])[group].items()}


def until_copied(store: CommitStore, group: str, topic: str, *offsets: int) -> None:
    expected = {(topic, number): offset for number, offset in enumerate(offsets)}
    assert until(lambda: copied(store, group) == expected, PATIENCE_SECONDS)


def age(store: CommitStore) -> int | None:
    return store.age(time.time_ns() // 1_000_000)


# Copied commits


def test_commits_arrive_in_every_region(aggregate, redis, make_redis, make_topic, group):
    topic, other = make_topic(aggregate, partitions=3), make_redis()
    commit(aggregate, group, topic, 1, 2, 3)
    with copying(aggregate, redis.url) as one, copying(aggregate, other.url) as two:
        for store in (one, two):
            until_copied(store, group, topic, 1, 2, 3)
        commit(aggregate, group, topic, 10, 20, 30)
        for store in (one, two):
            until_copied(store, group, topic, 10, 20, 30)
            assert group in store.groups()
            until_fresh(store)


def test_the_ledgers_own_entries_arrive_with_their_metadata(aggregate, redis, make_topic):
    topic, group = make_topic(aggregate), f"sluice.{uuid.uuid4().hex[:8]}.east.0"
    producer = Producer({**aggregate.librdkafka_options(), "transactional.id": group})
    consumer = Consumer({**aggregate.librdkafka_options(), "group.id": group})
    producer.init_transactions(30)
    producer.begin_transaction()
    entry = TopicPartition(topic, 0, 7, metadata='{"pid": 1, "äöü": null}')
    producer.send_offsets_to_transaction([entry], consumer.consumer_group_metadata(), 30)
    producer.commit_transaction(30)
    consumer.close()
    with copying(aggregate, redis.url) as store:
        until_copied(store, group, topic, 7)
        (found,) = store.commits([group])[group].values()
        # This client sends the terminating zero of its C string as well.
        assert found.metadata.removesuffix("\0") == entry.metadata


@pytest.mark.parametrize("ending", ["commit", "abort"])
def test_a_transactions_commits_arrive_once_it_is_committed_and_only_then(
    aggregate, redis, make_topic, group, ending, caplog
):
    topic = make_topic(aggregate)
    commit(aggregate, group, topic, 1)
    producer = Producer({**aggregate.librdkafka_options(), "transactional.id": group})
    consumer = Consumer({**aggregate.librdkafka_options(), "group.id": group})
    producer.init_transactions(30)
    with copying(aggregate, redis.url, stall_seconds=1.0) as store:
        until_copied(store, group, topic, 1)
        until_fresh(store)
        producer.begin_transaction()
        producer.send_offsets_to_transaction(
            [TopicPartition(topic, 0, 2)], consumer.consumer_group_metadata(), 30
        )
        began = time.monotonic()
        # The open transaction blocks its partition, so the copy's age grows.
        assert until(lambda: age(store) > 2000, PATIENCE_SECONDS)
        assert time.monotonic() - began > 1
        assert copied(store, group) == {(topic, 0): 1}
        assert "log-stands-still" in events(caplog) and "find-hanging" in caplog.text
        if ending == "commit":
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
        until_fresh(store)
        until_copied(store, group, topic, 2 if ending == "commit" else 1)
        assert events(caplog)[-1] == "log-moves-again"
    consumer.close()


def test_a_group_that_was_rewound_shows_the_lower_offset(aggregate, redis, make_topic, group):
    topic = make_topic(aggregate)
    with copying(aggregate, redis.url) as store:
        for offset in (500, 3):
            commit(aggregate, group, topic, offset)
            until_copied(store, group, topic, offset)


def test_a_deleted_group_is_gone(aggregate, redis, make_topic, group):
    topic = make_topic(aggregate)
    commit(aggregate, group, topic, 5)
    with copying(aggregate, redis.url) as store:
        until_copied(store, group, topic, 5)
        admin = aggregate.admin()
        admin.delete_consumer_groups([group])[group].result(30)
        until_copied(store, group, topic)
        assert group not in store.groups()


# Servers that are down, flushed or restarted


def test_after_a_flush_everything_is_copied_again_by_itself(
    aggregate, redis, make_topic, group, caplog
):
    topic = make_topic(aggregate, partitions=2)
    commit(aggregate, group, topic, 5, 6)
    with caplog.at_level(logging.INFO), copying(aggregate, redis.url) as store:
        until_fresh(store)
        before = store.commits(store.groups())
        assert before[group]
        with Redis.from_url(redis.url) as client:
            client.flushall()
        assert until(lambda: store.commits(store.groups()) == before, PATIENCE_SECONDS)
        until_fresh(store)
        assert events(caplog) == ["not-copied", "copied-again"]


def test_a_destination_that_is_away_is_waited_for_and_holds_up_no_other(
    aggregate, redis, make_redis, make_topic, group, caplog
):
    topic, away = make_topic(aggregate), make_redis()
    with copying(aggregate, redis.url) as store, copying(aggregate, away.url) as late:
        until_fresh(late)
        with caplog.at_level(logging.INFO):
            away.kill()
            commit(aggregate, group, topic, 5)
            until_copied(store, group, topic, 5)
            assert until(lambda: len(events(caplog)) == 1, PATIENCE_SECONDS)
            time.sleep(2)
            away.start()
            away.wait_ready()
            until_copied(late, group, topic, 5)
            until_fresh(late)
        assert events(caplog) == ["not-copied", "copied-again"]
        assert age(store) < 5000


def test_a_copier_goes_on_where_another_one_stopped(aggregate, redis, make_topic, group):
    topic = make_topic(aggregate)
    with copying(aggregate, redis.url) as store:
        commit(aggregate, group, topic, 5)
        until_copied(store, group, topic, 5)
        until_fresh(store)
    stood = store.position()
    commit(aggregate, group, topic, 6)
    begun = next(follower_of(aggregate).follow(stood))
    assert begun == {number: Portion(position, position) for number, position in stood.items()}
    with copying(aggregate, redis.url) as store:
        until_copied(store, group, topic, 6)


def test_two_copiers_of_one_destination_do_no_harm(aggregate, redis, make_topic, group, caplog):
    topic = make_topic(aggregate)
    with caplog.at_level(logging.INFO):
        with copying(aggregate, redis.url) as store, copying(aggregate, redis.url):
            for offset in (500, 3, 70):
                commit(aggregate, group, topic, offset)
                until_copied(store, group, topic, offset)
        assert events(caplog) == []


# The commit log itself


@pytest.fixture(scope="module")
def breakable(tmp_path_factory) -> Iterator[KafkaCluster]:
    """A cluster that tests may kill; no group has committed there before."""
    with KafkaCluster("breakable", tmp_path_factory.mktemp("breakable")) as cluster:
        yield cluster


def test_a_cluster_without_any_commit_is_waited_for_and_so_is_one_that_is_killed(
    breakable, redis, make_topic, group, caplog
):
    with caplog.at_level(logging.INFO), copying(breakable, redis.url) as store:
        assert until(lambda: len(events(caplog)) == 1, PATIENCE_SECONDS)
        said = [record.getMessage() for record in caplog.records]
        assert any("there is no such topic yet" in line for line in said)
        assert age(store) is None
        topic = make_topic(breakable)
        commit(breakable, group, topic, 5)
        until_copied(store, group, topic, 5)
        until_fresh(store)
        assert events(caplog) == ["not-copied", "copied-again"]
        eras = {position.era for position in store.position().values()}

        breakable.kill()
        assert until(lambda: len(events(caplog)) == 3, PATIENCE_SECONDS)
        assert age(store) > 1000
        breakable.restart()
        breakable.wait_ready()
        commit(breakable, group, topic, 6)
        until_copied(store, group, topic, 6)
        until_fresh(store)
        assert events(caplog) == ["not-copied", "copied-again"] * 2
        # The restarted cluster still had the log that had been read.
        assert {position.era for position in store.position().values()} == eras


def test_a_log_that_ends_before_the_read_position_is_read_anew(
    aggregate, redis, make_topic, group, caplog
):
    topic = make_topic(aggregate)
    commit(aggregate, group, topic, 5)
    with CommitStore(redis.url, "west") as store:
        follower = follower_of(aggregate)
        begun = next(follower.follow({}))
        store.put(begun)
        beyond = {
            number: Portion(it.begin, it.begin._replace(offset=10**6))
            for number, it in begun.items()
        }
        store.put(beyond)
    with caplog.at_level(logging.WARNING), copying(aggregate, redis.url) as store:
        until_copied(store, group, topic, 5)
        until_fresh(store)
        assert {position.era for position in store.position().values()} == {1}
        assert set(events(caplog)) == {"log-read-anew"}


class Renumbering(Admin):
    """Describes topics under another id from some time on: a broker's own ones stay the same."""

    is_renumbering = False

    def topics(self, names=None):
        found = super().topics(names)
        if self.is_renumbering:
            return [replace(each, topic_id=uuid.UUID(int=1)) for each in found]
        return found


def test_a_recreated_log_is_read_from_its_beginning(aggregate, redis, make_topic, group, caplog):
    topic = make_topic(aggregate)
    commit(aggregate, group, topic, 5)
    table = topology.KafkaCluster.model_validate(aggregate.topology_table())
    admin = Renumbering("west aggregate", table)
    with copying(aggregate, redis.url, admin=admin, check_seconds=0.2) as store:
        until_copied(store, group, topic, 5)
        until_fresh(store)
        admin.is_renumbering = True
        assert until(lambda: {it.era for it in store.position().values()} == {1}, PATIENCE_SECONDS)
        until_fresh(store)
        assert events(caplog) == ["log-read-anew"]
        commit(aggregate, group, topic, 4)
        until_copied(store, group, topic, 4)


def key_of(group: str, topic: str) -> bytes:
    """Returns the record key of a commit on partition 0."""
    texts = b"".join(struct.pack(">h", len(it)) + it.encode() for it in (group, topic))
    return struct.pack(">h", 1) + texts + struct.pack(">i", 0)


def test_commits_that_cannot_be_read_are_named_once_and_stop_nothing(
    breakable, redis, make_topic, group, caplog
):
    """Runs last on this cluster: its coordinator fails on records that it has not written."""
    topic = make_topic(breakable)
    commit(breakable, group, topic, 5)
    of_a_later_kafka = struct.pack(">hq", 99, 5)
    as_ever = struct.pack(">hqihq", 3, 6, -1, 0, 1)
    # Brokers accept records for internal topics only from a client with this id.
    producer = Producer({**breakable.librdkafka_options(), "client.id": "__admin_client"})
    with caplog.at_level(logging.WARNING), copying(breakable, redis.url) as store:
        until_copied(store, group, topic, 5)
        for value in (of_a_later_kafka, as_ever):
            for number in range(8):
                key = key_of(f"{group}-{number}", topic)
                producer.produce(TOPIC, key=key, value=value, partition=number)
            assert producer.flush(30) == 0
        for number in range(8):
            until_copied(store, f"{group}-{number}", topic, 6)
        until_fresh(store)
        assert events(caplog) == ["commit-unreadable"]
        assert "a commit of format 99" in caplog.text
