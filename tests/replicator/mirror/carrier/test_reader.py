"""Late and odd fetch responses; the source is a stand-in that answers with futures."""

import asyncio
import struct
from dataclasses import replace
from types import SimpleNamespace
from uuid import UUID

import pytest

from balancer.plan import TopicPartition
from replicator.batches.packer import PackingRule
from replicator.kafka.client.cluster_metadata import Leader, Topic
from replicator.kafka.client.fetch_session import FetchSession
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.fetch import FetchRequest, FetchStruct
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.reader import (
    LATE_SECONDS,
    RESPONSE_BYTES_MAX,
    RESPONSES_BYTES_MAX,
    Reader,
)
from tests.replicator.batches.source_batches import encoded, one_record
from tests.replicator.mirror.carrier.test_partition_pipeline import PLACE
from tests.replicator.mirror.ledger.held import held

TOPIC = UUID(int=1)
STABLE_OFFSET = 200
TOLD_AT = 1_700_000_000.0


def batch(offset: int, epoch: int) -> bytes:
    data = bytearray(encoded([one_record(0)]))
    struct.pack_into(">q", data, 0, offset)
    struct.pack_into(">i", data, 12, epoch)
    return bytes(data)


class Source:
    """Source with one partition and elections at will; the test answers each fetch.

    Leader epoch 5 ends at offset 100 in the log of its successor.
    """

    name, trouble = "west", ""

    def __init__(self) -> None:
        self.known = Leader(1, 5)
        self.fetches: asyncio.Queue[tuple[int, asyncio.Future]] = asyncio.Queue()
        self.requests: list[FetchRequest] = []

    def topic(self, name):
        return Topic(TOPIC, {0: self.known})

    def leader(self, topic, partition):
        return self.known

    def reported_leader(self, topic, partition):
        return self.known

    async def try_refresh(self):
        pass

    async def log_start(self, topic, partition):
        return 0

    async def log_end(self, topic, partition):
        return 130

    async def epoch_end(self, topic, partition, epoch):
        return 100 if epoch == 5 else 130

    async def send(self, node, request, purpose):
        self.requests.append(request)
        answer = asyncio.get_running_loop().create_future()
        self.fetches.put_nowait((node, answer))
        return await answer


def answered(records: bytes) -> SimpleNamespace:
    row = (0, 0, STABLE_OFFSET, STABLE_OFFSET, 0, None, -1, memoryview(bytearray(records)), {})
    topics = [(TOPIC, [row], {})]
    return SimpleNamespace(throttle_time_ms=0, error_code=0, session_id=0, topics=topics)


def reader_of(source: Source, pipelines: Pipelines) -> Reader:
    return Reader(
        source=source,
        pipelines=pipelines,
        rule_of=lambda topic: PackingRule(max_bytes=1 << 20),
        fetch_bytes=1 << 20,
        filled=lambda pipelines: None,
    )


@pytest.mark.parametrize("brokers", [1, 8, 40])
async def test_what_is_asked_of_all_brokers_at_a_time_is_bounded_for_all_of_them(brokers):
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


async def test_what_a_former_leader_answers_late_is_not_taken():
    source = Source()
    pipeline = PartitionPipeline(
        PLACE, replace(held(source_offset=100), source_topic=TOPIC, source_epoch=5)
    )
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
    assert (pipeline.position, pipeline.queued_bytes) == (101, len(batch(100, 6)))


def read_by(pipeline, answer, other=None):
    """Applies one response to the pipelines that were asked for."""
    pipelines = Pipelines()
    wanted = {(TOPIC, pipeline.partition.partition): pipeline}
    if other is not None:
        wanted[TOPIC, other.partition.partition] = other
    for each in wanted.values():
        each.source_leader = 5
        pipelines[each.partition] = each
    reader = reader_of(Source(), pipelines)
    session = FetchSession()
    session.next({place: reader._position(each) for place, each in wanted.items()})
    reader._take(answer, wanted, session, TOLD_AT)


def lane_at(partition):
    place = TopicPartition(PLACE.topic, partition)
    return PartitionPipeline(
        place, replace(held(source_offset=100), source_topic=TOPIC, source_epoch=5)
    )


async def test_a_partition_that_an_answer_leaves_out_is_heard_of_all_the_same():
    pipeline, other = lane_at(0), lane_at(1)
    other.source_end = 100
    read_by(pipeline, answered(batch(100, 5)), other)
    assert pipeline.heard_at == other.heard_at == TOLD_AT
    assert (pipeline.source_end, pipeline.source_high) == (STABLE_OFFSET, STABLE_OFFSET)


async def test_a_throttled_answer_says_nothing_about_any_partition():
    pipeline = lane_at(0)
    pipeline.source_end = 100
    throttled = SimpleNamespace(throttle_time_ms=800, error_code=0, session_id=0, topics=[])
    read_by(pipeline, throttled)
    assert pipeline.heard_at == 0


async def test_a_partition_that_is_answered_with_an_error_is_not_heard_of():
    pipeline = lane_at(0)
    pipeline.source_end = 100
    answer = answered(b"")
    answer.topics[0][1][0] = (0, 6, -1, -1, 0, None, -1, None, {})
    read_by(pipeline, answer)
    assert pipeline.heard_at == 0


async def test_an_answer_that_waited_for_a_frozen_process_counts_as_told_when_it_was_asked_for(
    monkeypatch,
):
    now = [TOLD_AT]
    monkeypatch.setattr("replicator.mirror.carrier.reader.time.time", lambda: now[0])
    source, pipeline = Source(), lane_at(0)
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
    assert pipeline.heard_at == TOLD_AT + LATE_SECONDS


async def test_a_broker_that_goes_on_refusing_is_asked_at_a_pace(monkeypatch):
    """A lost session begins again at once; other errors last, and are retried with a pause."""
    monkeypatch.setattr("replicator.mirror.carrier.reader.RETRY_SECONDS", 0.1)
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
