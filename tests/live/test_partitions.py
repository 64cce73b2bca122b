"""Partitions are carried once and in order, for any count, start position or epochs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from balancer.topic_partition import TopicPartition
from deploy.lab.dump import dump
from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import Shape, TrafficRecord, records, send
from deploy.lab.wait import until
from tests.live.carrying import Carrying
from tests.live.conftest import Carry
from tests.live.sending import Sending
from tests.live.topics import create, new_name

FIRST_MS = 1_357_000_000_000


# -- partitions


@pytest.mark.core
def test_sixty_four_partitions_arrive_each_in_its_own(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry: Carry
) -> None:
    topic = make_topic(regional, aggregate, partitions=64)
    send(regional, topic, records(10_000, partitions=64), Shape(codec="lz4", batch_records=50))
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, 64)
    carrying.carry_all(carriers=2)
    assert carrying.assert_exact() == 10_000


@pytest.mark.core
def test_two_sources_share_one_target_topic_and_each_keeps_its_order(
    regional: KafkaCluster, aggregate: KafkaCluster, east: KafkaCluster, redis: RedisServer
) -> None:
    topic = new_name("shared")
    for cluster in (regional, aggregate, east):
        create(cluster, topic, 2)
    with Carrying({"west": regional, "east": east}, aggregate, redis) as carrying:
        carrying.adopt(topic, 2)
        carrying.begin()
        shape = Shape(codec="lz4", batch_records=20, linger_ms=1)
        with Sending(regional, topic, 2, shape) as west, Sending(east, topic, 2, shape) as other:
            for _ in range(3):
                west.until_sent(1000)
                other.until_sent(1000)
                carrying.next_plan()
        carrying.until_carried()
        carrying.stop()
        assert carrying.assert_exact() == west.sent + other.sent


@pytest.mark.parametrize("target_partitions", [2, 5])
def test_partitions_that_only_one_end_has_stop_nobody(
    regional: KafkaCluster, aggregate: KafkaCluster, carry: Carry, target_partitions: int
) -> None:
    topic, source_partitions = new_name(), 7 - target_partitions
    create(regional, topic, source_partitions)
    create(aggregate, topic, target_partitions)
    send(regional, topic, records(3000, partitions=source_partitions))
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, 2)
    carrying.topics[topic] = 5
    carrying.begin()
    carrying.until_carried(west=range(2, 5))
    receipts = {receipt.partition: receipt for receipt in carrying.stop()}
    assert [receipts[number].state for number in (0, 1)] == ["released", "released"]
    assert all(receipts[number].reason for number in (2, 3, 4))
    assert carrying.assert_exact(but=range(2, 5))


def test_partitions_added_while_running_are_carried_from_their_first_record(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry: Carry
) -> None:
    topic = make_topic(regional, aggregate)
    carrying = carry(regional, aggregate)
    carrying.adopt(topic)
    carrying.begin()
    send(regional, topic, records(1000, origin="one "))
    for cluster in (aggregate, regional):
        admin = cluster.admin()
        admin.create_partitions([NewPartitions(topic, 4)])[topic].result(30)
        assert until(_has_partitions(admin, topic, 4), 30)
    send(regional, topic, records(1000, partitions=4, origin="four "))
    carrying.adopt(topic, 4)
    carrying.next_plan()
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact() == 2000


def _has_partitions(admin: AdminClient, topic: str, count: int) -> Callable[[], bool]:
    return lambda: len(admin.list_topics(topic).topics[topic].partitions) == count


# -- start positions


def test_start_latest_carries_what_comes_after_it_was_taken(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry: Carry
) -> None:
    topic = make_topic(regional, aggregate)
    send(regional, topic, records(1000, origin="before "))
    carrying = carry(regional, aggregate, start="latest")
    carrying.adopt(topic)
    carrying.begin()
    carrying.until(lambda: carrying.entries()[TopicPartition(topic, 0)].custody == "held")
    send(regional, topic, records(1000, origin="after "))
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact(since={0: 1000}) == 1000


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_start_at_a_time_begins_with_its_record_even_inside_a_batch(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry: Carry, codec: Any
) -> None:
    topic = make_topic(regional, aggregate)
    traffic = (
        TrafficRecord(0, b"k", b"%d" % number, timestamp_ms=FIRST_MS + number)
        for number in range(3000)
    )
    send(regional, topic, traffic, Shape(codec=codec))
    carrying = carry(regional, aggregate, start=FIRST_MS + 1234)
    carrying.adopt(topic)
    carrying.carry_all()
    assert carrying.assert_exact(since={0: 1234}) == 3000 - 1234


# -- epochs


def test_epochs_in_a_row_under_traffic_carry_every_record_once(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry: Carry
) -> None:
    topic = make_topic(regional, aggregate, partitions=6)
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, 6)
    carrying.begin(carriers=2)
    with Sending(regional, topic, 6, Shape(codec="lz4", linger_ms=1)) as sending:
        for carriers in (1, 3, 2, 1, 2, 3):
            sending.until_sent(800)
            carrying.next_plan(carriers=carriers)
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact() == sending.sent
    assert sum(receipt.records for receipt in carrying.receipts) == sending.sent


def test_a_carrier_overtaken_by_the_next_epochs_repeats_nothing(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry: Carry
) -> None:
    topic = make_topic(regional, aggregate, partitions=3)
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, 3)
    carrying.begin()
    with Sending(regional, topic, 3, Shape(codec="lz4", linger_ms=1)) as sending:
        for _ in range(5):
            sending.until_sent(800)
            carrying.overtake()
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact() == sending.sent


def test_a_transactional_source_is_carried_once_across_epochs(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry: Carry
) -> None:
    topic = make_topic(regional, aggregate, partitions=2)
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, 2)
    carrying.begin()
    shape = Shape(transaction_records=20, abort_every=3, linger_ms=1)
    with Sending(regional, topic, 2, shape) as sending:
        for _ in range(4):
            sending.until_sent(600)
            carrying.next_plan()
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact() == sending.sent


# -- offset maps after a kill


@pytest.mark.core
def test_after_a_kill_the_tail_is_found_and_both_maps_are_exact(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry: Carry
) -> None:
    topic = make_topic(regional, aggregate, partitions=2)
    # Entries and runs are as rare as possible, so that a takeover finds everything in the tail.
    carrying = carry(regional, aggregate, ledger_seconds=600.0, runs_seconds=60.0)
    carrying.adopt(topic, 2)
    shape = Shape(transaction_records=30, abort_every=4, batch_records=5, linger_ms=1)
    with Sending(regional, topic, 2, shape) as sending:
        for _ in range(3):
            process = carrying.begin_process()
            before = _arrived(aggregate, topic)
            sending.until_sent(600)
            carrying.until(lambda before=before: _arrived(aggregate, topic) > before + 200)
            process.kill()
    carrying.begin()
    carrying.until(lambda: _arrived(aggregate, topic) >= sending.sent)
    carrying.stop()
    assert carrying.assert_exact(redis_may_lack=True) == sending.sent


def _arrived(cluster: KafkaCluster, topic: str) -> int:
    return sum(len(d.prints) for d in dump(cluster, topic, "read_committed").values())
