"""Entries never pass runs that were not published; the clusters are stand-ins."""

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest

from balancer.plan import TopicPartition
from replicator.kafka.client.cluster import UNKNOWN_TOPIC, Answered, ProducerStateLost
from replicator.kafka.client.fenced_committer import NotCommitted
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.loss import Loss, LossKind
from tests.replicator.mirror.carrier.test_partition_pipeline import PLACE, parcel
from tests.replicator.mirror.ledger.held import held


class Clusters:
    """Stand-in for publisher, feed, ledger, target and fenced committer; records every call."""

    trouble = ""

    def __init__(self) -> None:
        self.told_end = 0
        self.entries: list[Entry] = []
        self.flushing, self.may_flush = asyncio.Event(), asyncio.Event()
        self._published: list[int] = []

    async def publish(self, told):
        self._published += [stretch.source_end for _, stretch in told]

    async def flush(self):
        self.flushing.set()
        await self.may_flush.wait()
        self.told_end = max([self.told_end, *self._published])

    def append(self, key, stretches):
        pass

    def topic(self, name):
        return name

    def left_at(self, partition, sequence):
        pass

    async def commit(self, writer, entries):
        self.entries += entries.values()

    release = commit


def scribe_of(clusters, lanes):
    return ProgressCommitter(
        ledger=clusters,
        writer=clusters,
        target=clusters,
        lanes=lanes,
        publisher=clusters,
        feed=clusters,
    )


@pytest.mark.parametrize("ending", ["release", "park"])
async def test_what_lands_while_runs_are_told_is_left_to_the_next_taker(ending):
    clusters = Clusters()
    lanes = Pipelines()
    ids = {"source_topic": UUID(int=1), "target_topic": UUID(int=2)}
    lane = lanes[PLACE] = PartitionPipeline(PLACE, replace(held(), **ids))
    lane.add([parcel((0, 1)), parcel((1, 1))], 2, 0)
    lane.acknowledge(lane.take(), 1000)
    in_flight = lane.take()
    lane.settle()
    scribe = scribe_of(clusters, lanes)
    loss = Loss(LossKind.TARGET_DELETED, 0, 1)
    act = scribe.release("free") if ending == "release" else scribe.park(lane, loss)
    acting = asyncio.create_task(act)
    await clusters.flushing.wait()
    lane.acknowledge(in_flight, 1001)
    clusters.may_flush.set()
    await acting
    assert clusters.told_end == 1
    assert all(entry.source_offset <= clusters.told_end for entry in clusters.entries)


async def test_what_the_target_shows_no_more_stays_and_tears_no_release_of_others():
    clusters, lanes = Clusters(), Pipelines()
    clusters.may_flush.set()
    deleted, other = TopicPartition("deleted", 0), PLACE
    clusters.topic = lambda name: None if name == "deleted" else name
    for place in (deleted, other):
        lanes[place] = PartitionPipeline(place, held())
    scribe = scribe_of(clusters, lanes)
    assert await scribe.hand_over({deleted: "free", other: "free"}) == {other}
    assert set(lanes) == {deleted}
    assert await scribe.hand_over({deleted: "free"}) == set()


@pytest.mark.parametrize("refusal", [NotCommitted, Answered])
async def test_a_release_that_was_refused_is_tried_again_and_one_that_was_torn_is_not(
    monkeypatch, refusal
):
    monkeypatch.setattr("replicator.mirror.carrier.progress_committer.RETRY_SECONDS", 0)
    clusters, lanes = Clusters(), Pipelines()
    clusters.may_flush.set()
    lanes[PLACE] = PartitionPipeline(PLACE, held())

    async def refused(writer, entries):
        raise refusal("id", [UNKNOWN_TOPIC])

    async def refresh():
        clusters.release = clusters.commit

    clusters.release, clusters.refresh = refused, refresh
    scribe = scribe_of(clusters, lanes)
    if refusal is Answered:
        with pytest.raises(ProducerStateLost):
            await scribe.hand_over({PLACE: "free"})
        assert await scribe.release("free") == set(), "it may be its next carrier's by now"
    else:
        assert await scribe.hand_over({PLACE: "free"}) == set()
        assert await scribe.hand_over({PLACE: "free"}) == {PLACE}


async def test_a_lane_that_settles_proves_that_its_writer_still_is_the_one():
    """Otherwise nothing is sent again on a new connection, and the pipeline never settles."""
    clusters, lanes = Clusters(), Pipelines()
    clusters.may_flush.set()
    lane = lanes[PLACE] = PartitionPipeline(PLACE, held())
    lane.add([parcel((0, 1))], 1, 0)
    lane.take()
    lane.settle()
    lane.rewind()
    scribe = scribe_of(clusters, lanes)
    assert not await scribe.commit([lane]), "it is committed once it is released"
    assert await scribe.commit([lane], even_unchanged=True)
