"""Decisions about groups on a real cluster survive flushes and reach every region's Redis."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from redis import Redis

from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import free_port
from deploy.lab.wait import until
from replicator.config import topology
from replicator.config.cluster_name import ClusterName
from replicator.config.names import PRIMARY_REGIONS_TOPIC
from replicator.groups.copies.copier import Copier
from replicator.groups.membership.primary_log import PrimaryLog, PrimaryTailer
from replicator.groups.membership.primary_region import PrimaryRegion, decided, encode, joined
from replicator.groups.membership.primary_store import PrimaryCopies, PrimaryStore
from replicator.kafka.admin.admin_error import AdminUnreachable
from replicator.kafka.tail.compacted_topic import CompactedTopic, WriteUnknown

PATIENCE_SECONDS = 60.0


def table_of(cluster: KafkaCluster) -> topology.KafkaCluster:
    return topology.KafkaCluster.model_validate(cluster.topology_table())


def log_of(cluster: KafkaCluster) -> PrimaryLog:
    return PrimaryLog("west aggregate", table_of(cluster))


def first(group: str | None = None, region: str | None = "west") -> PrimaryRegion:
    name = group or f"group-{uuid.uuid4().hex[:8]}"
    return decided(None, name, region, at_ms=1000, who="ann@ops", why="lives here")


def later(before: PrimaryRegion, region: str | None) -> PrimaryRegion:
    return decided(before, before.group, region, at_ms=2000, who="bob@ops", why="moved")


@pytest.fixture
def without_topic(aggregate: KafkaCluster) -> KafkaCluster:
    """The shared aggregate without the topic of decisions."""
    admin = aggregate.admin()
    if PRIMARY_REGIONS_TOPIC in admin.list_topics(timeout=10).topics:
        admin.delete_topics([PRIMARY_REGIONS_TOPIC])[PRIMARY_REGIONS_TOPIC].result(30)
    assert until(
        lambda: PRIMARY_REGIONS_TOPIC not in admin.list_topics(timeout=10).topics, PATIENCE_SECONDS
    )
    return aggregate


@contextmanager
def copying(cluster: KafkaCluster, source: str, *urls: str, **options: Any) -> Iterator[None]:
    """Runs the copiers of one region's daemon.

    Args:
        options: those of the tailers.
    """
    stores = [PrimaryCopies(url, source) for url in urls]
    copiers = [
        Copier(PrimaryTailer(ClusterName.aggregate(source), table_of(cluster), **options), store)
        for store in stores
    ]
    threads = [threading.Thread(target=copier.run) for copier in copiers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for copier in copiers:
            copier.stop()
        for thread, store in zip(threads, stores, strict=True):
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()
            store.close()


def until_known(store: PrimaryStore, *records: PrimaryRegion) -> None:
    expected = joined(records)
    assert until(lambda: expected.items() <= store.all().items(), PATIENCE_SECONDS)


def until_read(copies: PrimaryCopies, at_ms: int) -> None:
    """Waits until the copies hold everything that the log held at that time."""

    def is_read() -> bool:
        age_ms = copies.age(at_ms)
        return age_ms is not None and age_ms <= 0

    assert until(is_read, PATIENCE_SECONDS)


def events(caplog) -> list[str]:
    said = [record.getMessage() for record in caplog.records]
    return [line.split()[0].removeprefix("event=") for line in said if line.startswith("event=")]


def configs_of(cluster: KafkaCluster) -> dict[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, PRIMARY_REGIONS_TOPIC)
    admin = cluster.admin()
    entries = admin.describe_configs([resource])[resource].result(30)
    return {name: entry.value for name, entry in entries.items()}


# The log itself


def test_decisions_are_read_back_and_the_newest_counts(aggregate):
    record = first()
    moved = later(record, "east")
    log = log_of(aggregate)
    log.write([record])
    assert log.read()[record.group] == record
    log.write([moved])
    log.write([record])
    assert log.read()[record.group] == moved


def test_where_nothing_was_ever_decided_the_topic_is_made_with_the_first_decision(without_topic):
    log = log_of(without_topic)
    assert log.read() == {}
    assert PRIMARY_REGIONS_TOPIC not in without_topic.admin().list_topics(timeout=10).topics
    record = first()
    log.write([record])
    assert log.read() == {record.group: record}
    assert configs_of(without_topic)["cleanup.policy"] == "compact"
    assert (
        len(without_topic.admin().list_topics(timeout=10).topics[PRIMARY_REGIONS_TOPIC].partitions)
        == 1
    )


def test_two_decisions_at_once_where_the_topic_is_missing_are_both_recorded(without_topic):
    records = [first() for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda record: log_of(without_topic).write([record]), records))
    assert log_of(without_topic).read() == joined(records)


def test_a_topic_that_would_forget_is_made_to_keep(without_topic, caplog):
    without_topic.create_topics(NewTopic(PRIMARY_REGIONS_TOPIC, 3))
    records = [first() for _ in range(5)]
    with caplog.at_level(logging.WARNING):
        log_of(without_topic).write(records)
    assert configs_of(without_topic)["cleanup.policy"] == "compact"
    assert log_of(without_topic).read() == joined(records)
    assert events(caplog) == []


def test_compaction_leaves_the_decision_that_counts_though_another_was_written_last(make_cluster):
    hurry = {"log.cleaner.backoff.ms": 100, "log.roll.ms": 100}
    cluster = make_cluster("hurry", properties=hurry)
    log, record = log_of(cluster), first()
    moved = later(record, "east")
    log.make_topic()
    resource = ConfigResource(ResourceType.TOPIC, PRIMARY_REGIONS_TOPIC)
    for name, value in (("segment.ms", "100"), ("min.cleanable.dirty.ratio", "0.001")):
        resource.add_incremental_config(
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        )
    admin = cluster.admin()
    admin.incremental_alter_configs([resource])[resource].result(30)
    for each in (record, moved, moved, record, moved, record):
        log.write([each])

    def is_compacted() -> bool:
        # The last segment is rolled only when another record comes.
        log.write([first("another")])
        segments = (cluster.directory / "node-1" / "data" / f"{PRIMARY_REGIONS_TOPIC}-0").glob(
            "*.log"
        )
        whole = b"".join(path.read_bytes() for path in sorted(segments))
        return whole.count(encode(moved).encode()) == 1

    assert until(is_compacted, 2 * PATIENCE_SECONDS, every_seconds=0.5)
    assert log.read()[record.group] == moved


def test_foreign_records_in_the_topic_are_left_out_and_logged_once(without_topic, caplog):
    record = first()
    log = log_of(without_topic)
    log.write([record])
    producer = Producer(without_topic.librdkafka_options())
    to_come = encode(first()).replace('"sluice":1', '"sluice":2')
    for value in ("nonsense", None, to_come, "more of it", to_come):
        producer.produce(PRIMARY_REGIONS_TOPIC, key="x", value=value)
    assert producer.flush(30) == 0
    with caplog.at_level(logging.WARNING):
        assert log.read() == {record.group: record}
    assert events(caplog) == ["decision-unreadable"] * 2


def test_hundreds_of_groups_are_written_and_read_within_seconds(aggregate):
    records = [first() for _ in range(500)]
    log = log_of(aggregate)
    began = time.monotonic()
    log.write(records)
    assert joined(records).items() <= log.read().items()
    assert time.monotonic() - began < 10


def test_a_cluster_that_is_away_is_named_and_nothing_was_written():
    nobody = topology.KafkaCluster.model_validate({"bootstrap": [f"127.0.0.1:{free_port()}"]})
    log = PrimaryLog("west aggregate", nobody, timeout_seconds=1.0)
    for ask in (log.read, lambda: log.write([first()])):
        with pytest.raises(AdminUnreachable, match="west aggregate"):
            ask()


def test_a_write_whose_answer_is_lost_is_neither_done_nor_failed(make_cluster, monkeypatch):
    cluster, record = make_cluster("silent"), first()
    log = PrimaryLog("west aggregate", table_of(cluster), timeout_seconds=3.0)
    log.write([record])
    made = CompactedTopic.make
    monkeypatch.setattr(CompactedTopic, "make", lambda self: (made(self), cluster.pause()))
    with pytest.raises(WriteUnknown, match="may be recorded or not"):
        log.write([later(record, "east")])
    monkeypatch.undo()
    cluster.resume()
    log.write([later(record, "east")])
    assert log_of(cluster).read() == {record.group: later(record, "east")}


# Copies in every region


def test_a_decision_is_known_in_every_region_also_after_all_of_them_were_flushed(
    aggregate, redis, make_redis
):
    record = first()
    moved = later(record, "east")
    servers = redis, make_redis()
    with (
        PrimaryStore(servers[0].url) as here,
        PrimaryStore(servers[1].url) as there,
        copying(aggregate, "west", *(server.url for server in servers)),
    ):
        for decision in (record, moved):
            log_of(aggregate).write([decision])
            until_known(here, decision)
            until_known(there, decision)
        for server in servers:
            with Redis.from_url(server.url) as client:
                client.flushall()
        until_known(here, moved)
        until_known(there, moved)


def test_decisions_of_two_regions_join_and_an_older_one_that_comes_late_changes_nothing(
    aggregate, regional, redis
):
    record = first()
    moved, back = later(record, "east"), later(later(record, "east"), None)
    with PrimaryStore(redis.url) as store:
        with copying(aggregate, "west", redis.url):
            log_of(aggregate).write([record, back])
            until_known(store, back)
        with copying(regional, "east", redis.url), PrimaryCopies(redis.url, "east") as copies:
            log_of(regional).write([moved])
            began_ms = time.time_ns() // 1_000_000
            until_read(copies, began_ms)
            assert store.all()[record.group] == back


def test_a_copier_makes_a_missing_topic_and_logs_nothing(without_topic, redis, caplog):
    began_ms, record = time.time_ns() // 1_000_000, first()
    with (
        caplog.at_level(logging.INFO),
        copying(without_topic, "west", redis.url),
        PrimaryCopies(redis.url, "west") as copies,
    ):
        until_read(copies, began_ms)
        assert copies.all() == {}
        log_of(without_topic).write([record])
        until_known(copies, record)
    assert events(caplog) == []


def test_a_deleted_topic_is_read_anew_and_its_decisions_stay_known(without_topic, redis):
    before, after = first(), first()
    with (
        copying(without_topic, "west", redis.url, check_seconds=0.2),
        PrimaryStore(redis.url) as store,
    ):
        log_of(without_topic).write([before])
        until_known(store, before)
        admin = without_topic.admin()
        admin.delete_topics([PRIMARY_REGIONS_TOPIC])[PRIMARY_REGIONS_TOPIC].result(30)

        def is_written() -> bool:
            try:
                log_of(without_topic).write([after])
            except (KafkaException, AdminUnreachable):
                return False
            return True

        assert until(is_written, PATIENCE_SECONDS)
        until_known(store, before, after)
