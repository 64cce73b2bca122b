"""Partition errors: an error of one partition's records is no error of the others."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from aggregator.intents.intent import Intent
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.loader_session import LoaderSession
from aggregator.loader.partition_error import PartitionError, partition_error
from aggregator.objects.object_progress import ObjectProgress
from aggregator.objects.rotation import Rotation
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Fenced
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import Loss, LossKind

PLACE, OTHER = TopicPartition("flights", 0), TopicPartition("flights", 1)


def test_an_error_of_the_records_is_named_and_kept(caplog):
    found = partition_error(ValueError("no such value"), 7, "feed=f flights-0")
    assert found == PartitionError(7, "ValueError: no such value")
    assert "event=partition-failed feed=f flights-0 offset=7" in caplog.text
    assert found.loss == Loss(LossKind.LOADER_FAILED, 7, None, "ValueError: no such value")


@pytest.mark.parametrize("error", [Fenced("f"), Unreachable("u"), OSError(), MemoryError()])
def test_an_error_of_servers_is_of_all_partitions(error):
    with pytest.raises(type(error)):
        partition_error(error, 7, "feed=f")


def held(place, intent, leader_epoch=0):
    return HeldPartition(place, intent, ObjectProgress(Rotation(), intent), leader_epoch)


def intent_at(offset):
    return Intent(
        custody=Custody.HELD, offset=offset, reference=offset, position=offset,
        transactional_id="l",
    )  # fmt: skip


@pytest.fixture
def session():
    partitions = {place: held(place, intent_at(0)) for place in (PLACE, OTHER)}

    class Intents:
        async def commit(self, partition):
            pass

        async def park(self, partition):
            partition.intent = partition.intent.park(partition.failure)

    async def drop(place):
        dropped.append(place)

    dropped: list[TopicPartition] = []
    sink = SimpleNamespace(forming=SimpleNamespace(drop=drop), hold=held, flush_seconds=0.0)
    made = LoaderSession(
        region="east",
        assignment=SimpleNamespace(is_frozen=lambda *_: False, log_fields="feed=f"),
        source=None,
        fenced_committer=None,
        partitions=partitions,
        acquisition=None,
        reader=SimpleNamespace(changed=asyncio.Event()),
        sink=sink,
        intents=Intents(),
        reporting=None,
        loader_counts=SimpleNamespace(lost=lambda kind: None),
        renew_seconds=1e9,
    )
    return made, dropped


async def test_a_partition_that_fails_begins_anew_and_is_parked_if_it_fails_again(session):
    made, dropped = session
    before, other = made.partitions[PLACE], made.partitions[OTHER]
    before.error = PartitionError(3, "ValueError: v")
    assert before.is_stopped and not before.is_fetching
    await made.upkeep()
    anew = made.partitions[PLACE]
    assert anew is not before and anew.is_careful and not anew.is_stopped
    assert made.partitions[OTHER] is other and dropped == [PLACE]
    anew.error = PartitionError(5, "ValueError: v")
    await made.upkeep()
    assert PLACE not in made.partitions and made.partitions[OTHER] is other
    assert anew.intent.parked == Loss(LossKind.LOADER_FAILED, 5, None, "ValueError: v")


async def test_a_partition_that_fails_further_on_begins_anew_again(session):
    made, _ = session
    for offset in (0, 10, 20):
        partition = made.partitions[PLACE]
        partition.intent = intent_at(offset)
        partition.error = PartitionError(offset, "ValueError: v")
        await made.upkeep()
        assert made.partitions[PLACE] is not partition


async def test_what_was_told_amid_the_failure_is_in_the_intent_that_parks(session):
    """The next transaction has it: a parked intent of before would have it told once more."""
    made, _ = session
    made.partitions[PLACE].error = PartitionError(3, "ValueError: v")
    await made.upkeep()
    partition = made.partitions[PLACE]

    async def commit(each):
        each.intent = replace(each.intent, position=9)

    made.intents.commit = commit
    partition.error = PartitionError(5, "ValueError: v")
    await made.upkeep()
    assert partition.intent.parked and partition.intent.position == 9
