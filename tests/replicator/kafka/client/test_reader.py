"""Limits of what is fetched, and errors; the source is a stand-in that answers with futures."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster_metadata import Leader
from replicator.kafka.client.reader import (
    LATE_SECONDS,
    RESPONSE_BYTES_MAX,
    RESPONSES_BYTES_MAX,
    Reader,
)
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.fetch import FetchStruct
from tests.replicator.kafka.client.stand_in_source import REPORTED_AT, TOPIC, Source, answered

PLACE = TopicPartition("topic", 0)


@dataclass
class Pipeline:
    """Pipeline at offset 100, checked under the source's first leader."""

    partition: TopicPartition = PLACE
    topic_id: UUID = TOPIC
    position: int = 100
    leader_epoch: int = 5
    fetch_bytes: int = 0
    buffered_bytes: int = 0
    is_fetching: bool = True


class Unchecked:
    """Checks nothing."""

    running = ()

    def start(self):
        pass


class Intake:
    """Notes when the source reported what was taken in."""

    def __init__(self):
        self.reported_at: list[float] = []

    def take(self, response, wanted, session, reported_at):
        self.reported_at.append(reported_at)
        return False


def reader_of(source: Source, *pipelines: Pipeline, **options: Any) -> Reader[Pipeline]:
    return Reader(
        source=source,
        pipelines={each.partition: each for each in pipelines},
        checks=Unchecked(),
        intake=Intake(),
        fetch_bytes=1 << 20,
        retry_seconds=0.1,
        **options,
    )


def pipelines_at(numbers: Iterable[int]) -> list[Pipeline]:
    return [Pipeline(TopicPartition("topic", number)) for number in numbers]


async def first_requests(reader: Reader[Pipeline], source: Source, count: int) -> list[FetchStruct]:
    """Returns the first requests; the source answers none of them."""
    reading = asyncio.create_task(reader.run())
    try:
        async with asyncio.timeout(10):
            for _ in range(count):
                await source.fetches.get()
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    return [each.build(FetchStruct) for each in source.requests]


@pytest.mark.parametrize("brokers", [1, 8, 40])
async def test_the_fetches_of_all_brokers_together_are_bounded(brokers):
    source = Source()
    source.leader = lambda topic, partition: Leader(partition, 5)
    reader = reader_of(source, *pipelines_at(range(brokers)))
    asked = [each.max_bytes for each in await first_requests(reader, source, brokers)]
    assert sum(asked) == min(brokers * RESPONSE_BYTES_MAX, RESPONSES_BYTES_MAX // brokers * brokers)


async def test_limits_of_responses_are_the_callers():
    source = Source()
    source.leader = lambda topic, partition: Leader(partition, 5)
    reader = reader_of(
        source, *pipelines_at(range(4)), response_bytes_max=3000, responses_bytes_max=8000
    )
    asked = [each.max_bytes for each in await first_requests(reader, source, 4)]
    assert asked == [2000] * 4


async def test_a_pipeline_that_is_full_or_wants_nothing_is_not_fetched():
    source = Source()
    full, settling, checked_before, wanted = pipelines_at(range(4))
    full.buffered_bytes = 1000
    settling.is_fetching = False
    checked_before.leader_epoch = 4
    reader = reader_of(source, full, settling, checked_before, wanted, pipeline_bytes_max=1000)
    [asked] = await first_requests(reader, source, 1)
    assert [row[0] for _, rows, _ in asked.topics for row in rows] == [3]


async def test_nothing_is_fetched_while_all_pipelines_together_are_full():
    source = Source()
    one, other = pipelines_at(range(2))
    one.buffered_bytes = 1000
    reader = reader_of(source, one, other, pipelines_bytes_max=1000)
    with suppress(TimeoutError):
        async with asyncio.timeout(0.1):
            await reader.run()
    assert not source.requests


async def test_a_response_that_waited_for_a_frozen_process_counts_as_of_its_request():
    now = [REPORTED_AT]
    source = Source()
    reader = reader_of(source, Pipeline(), clock=lambda: now[0])
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
    assert reader.intake.reported_at == [REPORTED_AT + LATE_SECONDS]


async def test_a_broker_that_keeps_refusing_is_asked_with_pauses():
    """A lost session begins again at once; other errors last, and are retried with a pause."""
    source = Source()
    asked: list[int] = []

    async def refuse(node, request, purpose):
        asked.append(node)
        await asyncio.sleep(0)
        return SimpleNamespace(error_code=Code.UNKNOWN_SERVER_ERROR, session_id=0, topics=[])

    source.send = refuse
    with suppress(TimeoutError):
        async with asyncio.timeout(0.5):
            await reader_of(source, Pipeline()).run()
    assert 2 <= len(asked) <= 7
    assert "UNKNOWN_SERVER_ERROR" in source.trouble
