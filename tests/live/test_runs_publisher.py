"""Publishing runs to a real cluster: they are written when flush returns, or flush raises."""

import asyncio
import gc
import io
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from replicator.mirror.offset_map.run_segment import RunBuffer
from replicator.mirror.offset_map.runs_publisher import RunsNotWritten
from replicator.runtime.logs import log_to_stderr
from tests.live.runs import KEY, create_runs_topic, keys, learned, publisher, rebuilt, stretches


async def test_what_was_flushed_is_read_back_exactly_whatever_was_repeated(aggregate, route_key):
    telling = await publisher(aggregate, route_key)
    for key in keys(20):
        await telling.publish((key, stretch) for stretch in stretches(0, 30))
        await telling.publish((key, stretch) for stretch in stretches(25, 40))
    await telling.flush()
    maps = rebuilt(aggregate.librdkafka_options(), route_key)
    await telling.stop()
    assert maps == {key: learned(stretches(0, 40)) for key in keys(20)}


async def test_the_largest_stretch_fits_a_message(aggregate, route_key):
    gathering, source, target = RunBuffer(0), 0, 0
    for _ in range(31_000):
        gathering.land(source, target, 1)
        source, target = source + 2**48, target + 2**48
    parts = gathering.take()
    assert len(parts) == 2
    telling = await publisher(aggregate, route_key)
    await telling.publish((KEY, part) for part in parts)
    await telling.flush()
    await telling.stop()
    assert rebuilt(aggregate.librdkafka_options(), route_key) == {KEY: learned(parts)}


async def test_runs_survive_a_broker_that_is_killed_meanwhile(make_cluster):
    cluster = make_cluster("runs")
    create_runs_topic(cluster, "west.east")
    telling = await publisher(cluster, "west.east", request_timeout_ms=3000)
    await telling.publish((KEY, stretch) for stretch in stretches(0, 5))
    await telling.flush()
    cluster.kill_all()
    await telling.publish((KEY, stretch) for stretch in stretches(5, 9))
    with pytest.raises(RunsNotWritten, match="did not take"):
        await telling.flush()
    cluster.start()
    await asyncio.to_thread(cluster.wait_ready)
    for _ in range(20):
        try:
            await telling.flush()
            break
        except RunsNotWritten:
            await asyncio.sleep(0.5)
    await telling.stop()
    assert rebuilt(cluster.librdkafka_options(), "west.east") == {KEY: learned(stretches(0, 9))}


@pytest.fixture
def stderr_log() -> Iterator[Callable[[], list[str]]]:
    """`stderr_log()`: the lines that a daemon would have logged so far."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    root.handlers.clear()
    log_to_stderr()
    (handler,) = root.handlers
    stream = io.StringIO()
    handler.setStream(stream)
    yield lambda: stream.getvalue().splitlines()
    root.handlers[:], root.level = handlers, level


async def test_a_flush_that_is_cancelled_while_the_broker_is_away_leaves_no_error_in_the_log(
    make_cluster, stderr_log
):
    cluster = make_cluster("runs")
    create_runs_topic(cluster, "west.east")
    producers: list[AIOKafkaProducer] = []

    def make(**options: Any) -> AIOKafkaProducer:
        producers.append(AIOKafkaProducer(**options))
        return producers[-1]

    telling = await publisher(cluster, "west.east", request_timeout_ms=2000, make_producer=make)
    await telling.publish((KEY, stretch) for stretch in stretches(0, 5))
    cluster.kill_all()
    flushing = asyncio.create_task(telling.flush())
    failing = producers.pop().client
    async with asyncio.timeout(30):
        failures = 0
        while failures < 10:  # a sender asks ten times a second
            failures += not await failing.ready(1)
            await asyncio.sleep(0.02)
    flushing.cancel()
    await asyncio.gather(flushing, return_exceptions=True)
    await telling.stop()
    del flushing
    gc.collect()
    await asyncio.sleep(0)
    said = stderr_log()
    assert [line for line in said if "level=ERROR" in line] == []
    assert len([line for line in said if "Unable connect to node" in line]) == 1


async def test_a_cluster_behind_tls_and_a_password_is_told_and_read(make_cluster):
    cluster = make_cluster("secured", security="sasl_tls", mechanism="SCRAM-SHA-512")
    create_runs_topic(cluster, "west.east")
    telling = await publisher(cluster, "west.east")
    await telling.publish([(KEY, stretches(0, 1)[0])])
    await telling.flush()
    await telling.stop()
    assert rebuilt(cluster.librdkafka_options(), "west.east") == {KEY: learned(stretches(0, 1))}


async def test_no_flush_returns_while_another_still_writes_what_was_published_before(make_cluster):
    cluster = make_cluster("paused")
    create_runs_topic(cluster, "west.east")
    telling = await publisher(cluster, "west.east")
    await telling.publish([(KEY, stretches(0, 1)[0])])
    await telling.flush()
    cluster.pause()
    try:
        await telling.publish((KEY, stretch) for stretch in stretches(1, 500))
        first = asyncio.create_task(telling.flush())
        await asyncio.sleep(0.1)
        second = asyncio.create_task(telling.flush())
        await telling.publish((KEY, stretch) for stretch in stretches(500, 510))
        third = asyncio.create_task(telling.flush())
        done, _ = await asyncio.wait([first, second, third], timeout=1)
        assert not done
        # A cancelled flush does not cancel the write that the others wait for.
        first.cancel()
    finally:
        cluster.resume()
    await second
    assert rebuilt(cluster.librdkafka_options(), "west.east")[KEY].source_end >= 5000
    await third
    await telling.stop()
    assert rebuilt(cluster.librdkafka_options(), "west.east") == {KEY: learned(stretches(0, 510))}
