"""Entries never pass runs that were not published; the clusters are stand-ins."""

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.kafka.client.cluster import UNKNOWN_TOPIC, Answered, ProducerStateLost
from replicator.kafka.client.fenced_committer import NotCommitted
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.ledger.entry import Entry
from replicator.spark.driver_command import Term
from tests.replicator.mirror.carrier.outgoing_batches import PLACE, outgoing
from tests.replicator.mirror.ledger.held import held


class Clusters:
    """Stand-in for publisher, Redis writer, ledger, target and committer; records every call."""

    trouble = ""

    def __init__(self) -> None:
        self.published_end = 0
        self.entries: list[Entry] = []
        self.flushing, self.may_flush = asyncio.Event(), asyncio.Event()
        self._published: list[int] = []

    async def publish(self, runs):
        self._published += [segment.source_end for _, segment in runs]

    async def flush(self):
        self.flushing.set()
        await self.may_flush.wait()
        self.published_end = max([self.published_end, *self._published])

    def append(self, key, segments):
        pass

    def topic(self, name):
        return name

    def left_at(self, partition, sequence):
        pass

    async def commit(self, fenced_committer, entries):
        self.entries += entries.values()

    release = commit


def committer_of(clusters, pipelines, **options):
    return ProgressCommitter(
        ledger=clusters,
        fenced_committer=clusters,
        target=clusters,
        pipelines=pipelines,
        publisher=clusters,
        redis_writer=clusters,
        retry_seconds=0,
        **options,
    )


@pytest.mark.parametrize("ending", ["release", "park"])
async def test_records_that_land_while_runs_are_published_are_left_to_the_next_carrier(ending):
    clusters = Clusters()
    pipelines = Pipelines()
    ids = {"source_topic": UUID(int=1), "target_topic": UUID(int=2)}
    pipeline = pipelines[PLACE] = PartitionPipeline(PLACE, replace(held(), **ids))
    pipeline.add([outgoing((0, 1)), outgoing((1, 1))], 2, 0)
    pipeline.acknowledge(pipeline.take(), 1000)
    in_flight = pipeline.take()
    pipeline.settle()
    committer = committer_of(clusters, pipelines)
    loss = Loss(LossKind.TARGET_DELETED, 0, 1)
    act = committer.release("free") if ending == "release" else committer.park(pipeline, loss)
    acting = asyncio.create_task(act)
    await clusters.flushing.wait()
    pipeline.acknowledge(in_flight, 1001)
    clusters.may_flush.set()
    await acting
    assert clusters.published_end == 1
    assert all(entry.source_offset <= clusters.published_end for entry in clusters.entries)


@pytest.mark.parametrize("ending", ["release", "hand over", "park"])
async def test_a_receipt_counts_all_that_lands_before_its_pipeline_is_removed(ending):
    """A park or a release waits for a commit, and records land meanwhile."""
    clusters, pipelines = Clusters(), Pipelines()
    ids = {"source_topic": UUID(int=1), "target_topic": UUID(int=2)}
    pipeline = pipelines[PLACE] = PartitionPipeline(PLACE, replace(held(), **ids))
    pipeline.add([outgoing((0, 1)), outgoing((1, 1))], 2, 0)
    pipeline.acknowledge(pipeline.take(), 1000)
    in_flight = pipeline.take()
    receipts = ReceiptBook(
        CarrierAssignment(Route("west", "east"), 0, (PLACE,), Term(1, 0), 1, 0.0)
    )
    committer = committer_of(clusters, pipelines, receipts=receipts)
    committing = asyncio.create_task(committer.commit([pipeline]))
    await clusters.flushing.wait()
    acts = {
        "release": lambda: committer.release("free"),
        "hand over": lambda: committer.hand_over({PLACE: "free"}),
        "park": lambda: committer.park(pipeline, Loss(LossKind.TARGET_DELETED, 0, 1)),
    }
    acting = asyncio.create_task(acts[ending]())
    await asyncio.sleep(0)
    pipeline.acknowledge(in_flight, 1001)
    clusters.may_flush.set()
    await asyncio.gather(committing, acting)
    assert not pipelines
    (receipt,) = receipts.receipts(0.0)
    assert (receipt.source_begin, receipt.source_end, receipt.records) == (0, 2, 2)


async def test_no_batch_is_sent_while_a_partition_waits_to_be_parked():
    """Its loss was named before, with all batches that may have landed by then."""
    clusters, pipelines = Clusters(), Pipelines()
    ids = {"source_topic": UUID(int=1), "target_topic": UUID(int=2)}
    pipeline = pipelines[PLACE] = PartitionPipeline(PLACE, replace(held(), **ids))
    pipeline.add([outgoing((0, 1)), outgoing((1, 1))], 2, 0)
    pipeline.acknowledge(pipeline.take(), 1000)
    committer = committer_of(clusters, pipelines)
    committing = asyncio.create_task(committer.commit([pipeline]))
    await clusters.flushing.wait()
    assert pipeline.is_ready(5)
    parking = asyncio.create_task(committer.park(pipeline, Loss(LossKind.TIMES_CHANGED, 0, 1)))
    await asyncio.sleep(0)
    assert PLACE in pipelines
    assert not pipeline.is_ready(5)
    clusters.may_flush.set()
    await asyncio.gather(committing, parking)


async def test_a_partition_missing_from_the_target_stays_and_tears_no_release_of_others():
    clusters, pipelines = Clusters(), Pipelines()
    clusters.may_flush.set()
    deleted, other = TopicPartition("deleted", 0), PLACE
    clusters.topic = lambda name: None if name == "deleted" else name
    for partition in (deleted, other):
        pipelines[partition] = PartitionPipeline(partition, held())
    committer = committer_of(clusters, pipelines)
    assert await committer.hand_over({deleted: "free", other: "free"}) == {other}
    assert set(pipelines) == {deleted}
    assert await committer.hand_over({deleted: "free"}) == set()


@pytest.mark.parametrize("refusal", [NotCommitted, Answered])
async def test_a_release_that_was_refused_is_tried_again_and_one_that_was_torn_is_not(
    refusal,
):
    clusters, pipelines = Clusters(), Pipelines()
    clusters.may_flush.set()
    pipelines[PLACE] = PartitionPipeline(PLACE, held())

    async def refused(fenced_committer, entries):
        raise refusal("id", [UNKNOWN_TOPIC])

    async def refresh():
        clusters.release = clusters.commit

    clusters.release, clusters.refresh = refused, refresh
    committer = committer_of(clusters, pipelines)
    if refusal is Answered:
        with pytest.raises(ProducerStateLost):
            await committer.hand_over({PLACE: "free"})
        assert await committer.release("free") == set(), "its next carrier may hold it by now"
    else:
        assert await committer.hand_over({PLACE: "free"}) == set()
        assert await committer.hand_over({PLACE: "free"}) == {PLACE}


async def test_a_settling_pipeline_still_confirms_that_its_producer_is_not_fenced():
    """Otherwise nothing is sent again on a new connection, and the pipeline never settles."""
    clusters, pipelines = Clusters(), Pipelines()
    clusters.may_flush.set()
    pipeline = pipelines[PLACE] = PartitionPipeline(PLACE, held())
    pipeline.add([outgoing((0, 1))], 1, 0)
    pipeline.take()
    pipeline.settle()
    pipeline.rewind()
    committer = committer_of(clusters, pipelines)
    assert not await committer.commit([pipeline]), "it is committed once it is released"
    assert await committer.commit([pipeline], even_unchanged=True)


async def test_what_waits_for_an_entry_that_the_ledger_has_already_needs_no_other_commit():
    """Otherwise the pipeline would wait for ever: an unchanged entry is not committed again."""
    clusters, pipelines = Clusters(), Pipelines()
    pipeline = pipelines[PLACE] = PartitionPipeline(PLACE, held())
    pipeline.add([], 52, 0)
    idle = pipeline.statement()
    pipeline.add([outgoing((52, 3))], 55, 0)
    pipeline.committed(idle)
    pipeline.last_stated = idle.entry
    has_waited = pipeline.waits_for_cover
    is_committed = await committer_of(clusters, pipelines).commit([pipeline])
    assert (has_waited, is_committed, pipeline.waits_for_cover) == (True, False, False)
    assert clusters.entries == []
