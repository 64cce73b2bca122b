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


def scribe_of(clusters, pipelines):
    return ProgressCommitter(
        ledger=clusters,
        writer=clusters,
        target=clusters,
        pipelines=pipelines,
        publisher=clusters,
        feed=clusters,
    )


@pytest.mark.parametrize("ending", ["release", "park"])
async def test_what_lands_while_runs_are_told_is_left_to_the_next_taker(ending):
    clusters = Clusters()
    pipelines = Pipelines()
    ids = {"source_topic": UUID(int=1), "target_topic": UUID(int=2)}
    pipeline = pipelines[PLACE] = PartitionPipeline(PLACE, replace(held(), **ids))
    pipeline.add([parcel((0, 1)), parcel((1, 1))], 2, 0)
    pipeline.acknowledge(pipeline.take(), 1000)
    in_flight = pipeline.take()
    pipeline.settle()
    committer = scribe_of(clusters, pipelines)
    loss = Loss(LossKind.TARGET_DELETED, 0, 1)
    act = committer.release("free") if ending == "release" else committer.park(pipeline, loss)
    acting = asyncio.create_task(act)
    await clusters.flushing.wait()
    pipeline.acknowledge(in_flight, 1001)
    clusters.may_flush.set()
    await acting
    assert clusters.told_end == 1
    assert all(entry.source_offset <= clusters.told_end for entry in clusters.entries)


async def test_what_the_target_shows_no_more_stays_and_tears_no_release_of_others():
    clusters, pipelines = Clusters(), Pipelines()
    clusters.may_flush.set()
    deleted, other = TopicPartition("deleted", 0), PLACE
    clusters.topic = lambda name: None if name == "deleted" else name
    for place in (deleted, other):
        pipelines[place] = PartitionPipeline(place, held())
    committer = scribe_of(clusters, pipelines)
    assert await committer.hand_over({deleted: "free", other: "free"}) == {other}
    assert set(pipelines) == {deleted}
    assert await committer.hand_over({deleted: "free"}) == set()


@pytest.mark.parametrize("refusal", [NotCommitted, Answered])
async def test_a_release_that_was_refused_is_tried_again_and_one_that_was_torn_is_not(
    monkeypatch, refusal
):
    monkeypatch.setattr("replicator.mirror.carrier.progress_committer.RETRY_SECONDS", 0)
    clusters, pipelines = Clusters(), Pipelines()
    clusters.may_flush.set()
    pipelines[PLACE] = PartitionPipeline(PLACE, held())

    async def refused(writer, entries):
        raise refusal("id", [UNKNOWN_TOPIC])

    async def refresh():
        clusters.release = clusters.commit

    clusters.release, clusters.refresh = refused, refresh
    committer = scribe_of(clusters, pipelines)
    if refusal is Answered:
        with pytest.raises(ProducerStateLost):
            await committer.hand_over({PLACE: "free"})
        assert await committer.release("free") == set(), "it may be its next carrier's by now"
    else:
        assert await committer.hand_over({PLACE: "free"}) == set()
        assert await committer.hand_over({PLACE: "free"}) == {PLACE}


async def test_a_lane_that_settles_proves_that_its_writer_still_is_the_one():
    """Otherwise nothing is sent again on a new connection, and the pipeline never settles."""
    clusters, pipelines = Clusters(), Pipelines()
    clusters.may_flush.set()
    pipeline = pipelines[PLACE] = PartitionPipeline(PLACE, held())
    pipeline.add([parcel((0, 1))], 1, 0)
    pipeline.take()
    pipeline.settle()
    pipeline.rewind()
    committer = scribe_of(clusters, pipelines)
    assert not await committer.commit([pipeline]), "it is committed once it is released"
    assert await committer.commit([pipeline], even_unchanged=True)
