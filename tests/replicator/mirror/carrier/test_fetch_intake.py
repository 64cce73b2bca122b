"""Responses of former leaders are not taken; the ends of a source are current once confirmed."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster_metadata import Leader
from replicator.kafka.client.epoch_regress import EpochRegress
from replicator.kafka.client.fetch_session import FetchSession
from replicator.kafka.client.reader import Reader, fetch_position
from replicator.kafka.client.source_checks import SourceChecks
from replicator.mirror.carrier.fetch_intake import FetchIntake
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.senders import Senders
from tests.replicator.kafka.client.stand_in_source import (
    REPORTED_AT,
    STABLE_OFFSET,
    TOPIC,
    Source,
    answered,
    batch,
)
from tests.replicator.mirror.carrier.outgoing_batches import PLACE
from tests.replicator.mirror.ledger.held import held


def pipeline_at(partition: int) -> PartitionPipeline:
    """Returns the pipeline of a partition of the source's topic, at offset 100."""
    entry = replace(held(source_offset=100), source_topic=TOPIC, source_epoch=5)
    pipeline = PartitionPipeline(TopicPartition(PLACE.topic, partition), entry)
    pipeline.leader_epoch = 5
    return pipeline


def intake_of(source, pipelines):
    return FetchIntake(
        source=source,
        pipelines=pipelines,
        senders=Senders(source, pipelines, lambda node: pytest.fail(f"broker {node}")),
        limits={PLACE.topic: 1 << 20},
        merge_below_records=32,
    )


def take(pipeline, answer, other=None):
    """Takes one response in, for the pipelines that were fetched for."""
    pipelines = Pipelines()
    wanted = {(TOPIC, each.partition.partition): each for each in (pipeline, other) if each}
    for each in wanted.values():
        pipelines[each.partition] = each
    session = FetchSession()
    session.next({place: fetch_position(each, 1 << 20) for place, each in wanted.items()})
    intake_of(Source(), pipelines).take(answer, wanted, session, REPORTED_AT)


def test_a_response_that_leaves_a_partition_out_confirms_its_ends():
    pipeline, other = pipeline_at(0), pipeline_at(1)
    other.source_end = 100
    take(pipeline, answered(batch(100, 5)), other)
    assert pipeline.reported_at == other.reported_at == REPORTED_AT
    assert (pipeline.source_end, pipeline.source_high) == (STABLE_OFFSET, STABLE_OFFSET)


def test_a_throttled_response_confirms_nothing():
    pipeline = pipeline_at(0)
    pipeline.source_end = 100
    throttled = SimpleNamespace(throttle_time_ms=800, error_code=0, session_id=0, topics=[])
    take(pipeline, throttled)
    assert pipeline.reported_at == 0


def test_an_error_of_a_partition_does_not_confirm_its_ends():
    pipeline = pipeline_at(0)
    pipeline.source_end = 100
    answer = answered(b"")
    answer.topics[0][1][0] = (0, 6, -1, -1, 0, None, -1, None, {})
    take(pipeline, answer)
    assert pipeline.reported_at == 0


async def test_a_late_response_of_a_former_leader_is_not_taken():
    source = Source()
    pipeline = pipeline_at(0)
    pipelines = Pipelines()
    pipelines[PLACE] = pipeline
    reader = Reader(
        source=source,
        pipelines=pipelines,
        checks=SourceChecks(source, pipelines, EpochRegress(source)),
        intake=intake_of(source, pipelines),
        fetch_bytes=1 << 20,
        retry_seconds=0.1,
    )
    reading = asyncio.create_task(reader.run())
    try:
        async with asyncio.timeout(10):
            _, late = await source.fetches.get()
            source.known = Leader(2, 6)
            node, present = await source.fetches.get()
            assert (node, pipeline.leader_epoch) == (2, 6)
            late.set_result(answered(b"".join(batch(100 + n, 5) for n in range(20))))
            await late
            present.set_result(answered(batch(100, 6)))
            await source.fetches.get()
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    assert (pipeline.position, pipeline.queue.size_bytes) == (101, len(batch(100, 6)))
