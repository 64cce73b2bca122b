"""Late fetch responses, and errors; the source is a stand-in that answers with futures."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from balancer.plan import TopicPartition
from replicator.batches.packer import PackingRule
from replicator.kafka.client.cluster_metadata import Leader
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.fetch import FetchStruct
from replicator.mirror.carrier.epoch_regress import EpochRegress
from replicator.mirror.carrier.fetch_intake import FetchIntake
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.reader import (
    LATE_SECONDS,
    RESPONSE_BYTES_MAX,
    RESPONSES_BYTES_MAX,
    Reader,
)
from replicator.mirror.carrier.source_checks import SourceChecks
from tests.replicator.mirror.carrier.stand_in_source import (
    REPORTED_AT,
    TOPIC,
    Source,
    answered,
    batch,
    pipeline_at,
)
from tests.replicator.mirror.carrier.test_partition_pipeline import PLACE
from tests.replicator.mirror.ledger.held import held


def reader_of(source: Source, pipelines: Pipelines) -> Reader:
    return Reader(
        source=source,
        pipelines=pipelines,
        checks=SourceChecks(source, pipelines, EpochRegress(source)),
        intake=FetchIntake(
            source=source,
            pipelines=pipelines,
            rule_of=lambda topic: PackingRule(max_bytes=1 << 20),
            filled=lambda pipelines: None,
        ),
        fetch_bytes=1 << 20,
        retry_seconds=0.1,
    )


@pytest.mark.parametrize("brokers", [1, 8, 40])
async def test_the_fetches_of_all_brokers_together_are_bounded(brokers):
    source, pipelines = Source(), Pipelines()
    source.leader = lambda topic, partition: Leader(partition, 5)
    for number in range(brokers):
        place = TopicPartition(PLACE.topic, number)
        pipelines[place] = PartitionPipeline(
            place, replace(held(), source_topic=TOPIC, source_epoch=5)
        )
        pipelines[place].source_leader = 5
    reading = asyncio.create_task(reader_of(source, pipelines).run())
    try:
        async with asyncio.timeout(10):
            for _ in range(brokers):
                await source.fetches.get()
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    asked = [each.build(FetchStruct).max_bytes for each in source.requests]
    assert sum(asked) == min(brokers * RESPONSE_BYTES_MAX, RESPONSES_BYTES_MAX // brokers * brokers)


async def test_a_late_response_of_a_former_leader_is_not_taken():
    source = Source()
    pipeline = pipeline_at(0)
    pipeline.source_leader = 5
    pipelines = Pipelines()
    pipelines[PLACE] = pipeline
    reader = reader_of(source, pipelines)
    reading = asyncio.create_task(reader.run())
    try:
        async with asyncio.timeout(10):
            _, late = await source.fetches.get()
            source.known = Leader(2, 6)
            node, present = await source.fetches.get()
            assert (node, pipeline.source_leader) == (2, 6)
            late.set_result(answered(b"".join(batch(100 + n, 5) for n in range(20))))
            await late
            present.set_result(answered(batch(100, 6)))
            await source.fetches.get()
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    assert (pipeline.position, pipeline.queue.size_bytes) == (101, len(batch(100, 6)))


async def test_a_response_that_waited_for_a_frozen_process_counts_as_of_its_request(
    monkeypatch,
):
    now = [REPORTED_AT]
    monkeypatch.setattr("replicator.mirror.carrier.reader.time.time", lambda: now[0])
    source, pipeline = Source(), pipeline_at(0)
    pipeline.source_leader = 5
    reader = reader_of(source, {pipeline.partition: pipeline})
    reading = asyncio.create_task(reader.run())
    try:
        async with asyncio.timeout(10):
            _, answer = await source.fetches.get()
            now[0] += 30.0
            answer.set_result(answered(b""))
            await source.fetches.get()
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    assert pipeline.reported_at == REPORTED_AT + LATE_SECONDS


async def test_a_broker_that_keeps_refusing_is_asked_with_pauses():
    """A lost session begins again at once; other errors last, and are retried with a pause."""
    source = Source()
    asked: list[int] = []

    async def refuse(node, request, purpose):
        asked.append(node)
        await asyncio.sleep(0)
        return SimpleNamespace(error_code=Code.UNKNOWN_SERVER_ERROR, session_id=0, topics=[])

    source.send = refuse
    pipelines = Pipelines()
    pipelines[PLACE] = PartitionPipeline(PLACE, replace(held(), source_topic=TOPIC, source_epoch=5))
    pipelines[PLACE].source_leader = 5
    reading = asyncio.create_task(reader_of(source, pipelines).run())
    try:
        async with asyncio.timeout(0.5):
            await reading
    except TimeoutError:
        pass
    assert 2 <= len(asked) <= 7
    assert "UNKNOWN_SERVER_ERROR" in source.trouble
