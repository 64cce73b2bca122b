"""Losses are named with their range and stop one partition; no record is skipped silently."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from balancer.topic_partition import TopicPartition
from deploy.lab.dump import dump
from deploy.lab.kafka import KafkaCluster
from replicator.kafka.client.source_checks import SourceChecks
from replicator.mirror.carrier.carrier_assembly import Makers
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.target_watch import TargetWatch
from tests.live.conftest import Carry
from tests.live.pair import both, ends, fill, prints
from tests.live.sending import Sending
from tests.live.topics import create, delete

MISSED_SOON = Makers(
    source_checks=partial(SourceChecks, missing_seconds_max=1.0),
    target_watch=partial(TargetWatch, missing_seconds_max=1.0),
)
"""Parts that take missing topics for deleted after one second instead of ten."""


def cut(cluster: KafkaCluster, topic: str, before: int) -> None:
    """Moves the log start of partition 0 with DeleteRecords, as retention does."""
    admin = cluster.admin()
    place = KafkaTopicPartition(topic, 0, before)
    admin.delete_records([place])[place].result(30)


# -- retention


@pytest.mark.core
def test_retention_that_passed_a_stopped_reader_is_named_and_accepted_behind_it(
    regional: KafkaCluster, aggregate: KafkaCluster, carry: Carry
) -> None:
    topic = both(regional, aggregate)
    place = TopicPartition(topic, 0)
    fill(regional, topic, "carried")
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, 2)
    carrying.carry_all()
    position = ends(regional, topic)[0]
    before = prints(regional, topic)
    fill(regional, topic, "lost in part")
    start = position + 100
    cut(regional, topic, start)

    carrying.begin()
    reason = carrying.until_parked(place)
    assert reason == (f"source retention passed the reader: source offsets [{position}, {start})")
    carrying.until_carried(west=[0])
    assert prints(aggregate, topic) == before

    assert carrying.accept(place).source_offset == start
    carrying.until_carried()
    carrying.stop()
    assert prints(aggregate, topic) == before + prints(regional, topic)
    assert carrying.assert_exact(but=[0])
    assert carrying.entries()[place].losses == 1


class Late(ProgressCommitter):
    """Releases an accepted partition only after the running carrier has taken it over."""

    async def release(self, transactional_id: str) -> set[TopicPartition]:
        while True:
            entries = (await self.ledger.read(self.pipelines)).values()
            if self.fenced_committer.transactional_id not in {x.transactional_id for x in entries}:
                return await super().release(transactional_id)
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("committer", [ProgressCommitter, Late])
def test_retention_that_passes_a_running_reader_is_named_and_the_others_go_on(
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    carry: Carry,
    committer: type[ProgressCommitter],
) -> None:
    topic = both(regional, aggregate)
    place = TopicPartition(topic, 0)
    fill(regional, topic, "carried")
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, 2)
    carrying.begin()
    carrying.until_carried()
    position = ends(regional, topic)[0]
    before = prints(regional, topic)
    # An open transaction blocks the reader.
    producer = Producer({**regional.librdkafka_options(), "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    for number in range(200):
        producer.produce(topic, b"%d" % number, partition=0)
    producer.flush(30)
    cut(regional, topic, position + 150)
    reason = carrying.until_parked(place)
    assert f"passed the reader: source offsets [{position}, {position + 150})" in reason
    producer.commit_transaction(30)
    fill(regional, topic, "behind")
    carrying.until_carried(west=[0])
    assert prints(aggregate, topic) == before

    carrying.accept(place, makers=Makers(progress_committer=committer))
    carrying.until_carried()
    carrying.stop()
    assert prints(aggregate, topic) == before + dump(regional, topic)[0].prints.tolist()
    assert carrying.assert_exact(but=[0])


# -- topics that are deleted or recreated


def test_a_source_topic_deleted_under_a_running_carrier_is_named_and_other_topics_go_on(
    regional: KafkaCluster, aggregate: KafkaCluster, carry: Carry
) -> None:
    gone, other = both(regional, aggregate), both(regional, aggregate)
    carrying = carry(regional, aggregate)
    carrying.makers = MISSED_SOON
    for topic in (gone, other):
        fill(regional, topic, "carried")
        carrying.adopt(topic, 2)
    carrying.begin()
    carrying.until_carried()
    positions = ends(regional, gone)
    delete(regional, gone)
    for number, position in positions.items():
        reason = carrying.until_parked(TopicPartition(gone, number))
        assert reason == f"source topic was deleted: source offsets [{position}, ?)"
    fill(regional, other, "behind")
    del carrying.topics[gone]
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact() == 1000


def test_a_source_topic_deleted_meanwhile_is_named_when_its_partitions_are_taken(
    regional: KafkaCluster, aggregate: KafkaCluster, carry: Carry
) -> None:
    gone, other = both(regional, aggregate), both(regional, aggregate)
    carrying = carry(regional, aggregate)
    carrying.makers = MISSED_SOON
    for topic in (gone, other):
        fill(regional, topic, "carried")
        carrying.adopt(topic, 2)
    carrying.carry_all()
    position = ends(regional, gone)[0]
    delete(regional, gone)
    carrying.begin()
    reason = carrying.until_parked(TopicPartition(gone, 0))
    assert reason == f"source topic was deleted: source offsets [{position}, ?)"
    fill(regional, other, "behind")
    del carrying.topics[gone]
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact() == 1000


@pytest.mark.parametrize("is_running", [True, False])
def test_a_source_topic_recreated_and_grown_past_the_position_is_never_taken_for_the_old(
    regional: KafkaCluster, aggregate: KafkaCluster, carry: Carry, is_running: bool
) -> None:
    again, other = both(regional, aggregate), both(regional, aggregate)
    place = TopicPartition(again, 0)
    carrying = carry(regional, aggregate)
    for topic in (again, other):
        fill(regional, topic, "carried")
        carrying.adopt(topic, 2)
    carrying.begin()
    carrying.until_carried()
    if not is_running:
        carrying.stop()
    position = ends(regional, again)[0]
    before = prints(regional, again)
    delete(regional, again)
    create(regional, again, 2)
    fill(regional, again, "anew", 1200)
    if not is_running:
        carrying.begin()
    reason = carrying.until_parked(place)
    assert reason.startswith(
        f"source topic was recreated: source offsets [{position}, ?): the new log"
    )
    assert prints(aggregate, again) == before
    fill(regional, other, "behind")
    adopted, carrying.topics = carrying.topics, {other: 2}
    carrying.until_carried()

    carrying.topics = adopted
    carrying.until_parked(TopicPartition(again, 1))
    for number in range(2):
        assert carrying.accept(TopicPartition(again, number)).source_offset == 0
    carrying.until_carried()
    carrying.stop()
    assert prints(aggregate, again) == before + prints(regional, again)
    carrying.topics = {other: 2}
    assert carrying.assert_exact() == 1000


@pytest.mark.parametrize("is_running", [True, False])
def test_a_target_topic_recreated_and_grown_past_what_was_landed_gets_nothing_more(
    regional: KafkaCluster, aggregate: KafkaCluster, carry: Carry, is_running: bool
) -> None:
    again, other = both(regional, aggregate), both(regional, aggregate)
    place = TopicPartition(again, 0)
    carrying = carry(regional, aggregate)
    for topic in (again, other):
        fill(regional, topic, "carried")
        carrying.adopt(topic, 2)
    carrying.begin()
    carrying.until_carried()
    if not is_running:
        carrying.stop()
    landed = ends(aggregate, again)[0]
    delete(aggregate, again)
    create(aggregate, again, 2)
    fill(aggregate, again, "foreign", 1200)
    foreign = prints(aggregate, again)
    fill(regional, again, "behind")
    if is_running:
        reason = carrying.until_parked(place)
        assert f"target topic was recreated: target offsets [0, {landed})" in reason
    else:
        # The entries were deleted with the topic; only the witness shows that they existed.
        carrying.begin()
    fill(regional, other, "behind")
    adopted, carrying.topics = carrying.topics, {other: 2}
    carrying.until_carried()
    receipts = {(r.topic, r.partition): r for r in carrying.stop()}
    assert receipts[place].state == "parked"
    assert receipts[place].reason
    assert prints(aggregate, again) == foreign
    assert carrying.assert_exact() == 1000
    carrying.topics = adopted


def test_a_target_topic_deleted_under_load_is_named_and_other_topics_go_on(
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    carry: Carry,
    caplog: pytest.LogCaptureFixture,
) -> None:
    gone, other = both(regional, aggregate), both(regional, aggregate)
    place = TopicPartition(gone, 0)
    carrying = carry(regional, aggregate)
    carrying.makers = MISSED_SOON
    for topic in (gone, other):
        fill(regional, topic, "carried")
        carrying.adopt(topic, 2)
    carrying.begin()
    carrying.until_carried()
    with Sending(regional, gone, 2) as sending:
        sending.until_sent(400)
        delete(aggregate, gone)
        sending.until_sent(2000)
    adopted, carrying.topics = carrying.topics, {other: 2}
    fill(regional, other, "behind")
    carrying.until_carried()
    carrying.until(lambda: "target topic was deleted: target offsets [0, " in caplog.text)
    receipts = {(r.topic, r.partition): r for r in carrying.stop()}
    assert receipts[place].state == "parked"
    assert "target topic was deleted: target offsets [0, " in receipts[place].reason
    assert carrying.assert_exact() == 1000

    # The operator recreates the topic and has all of it mirrored again.
    carrying.topics = adopted
    create(aggregate, gone, 2)
    both_places = [TopicPartition(gone, number) for number in range(2)]
    carrying.until(lambda: not carrying.entries().keys() & {*both_places})
    carrying.begin()
    for each in both_places:
        carrying.accept(each, restart_at=0)
    carrying.until_carried()
    carrying.stop()
    assert prints(aggregate, gone) == prints(regional, gone)
