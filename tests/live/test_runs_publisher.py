"""Telling runs to a real cluster: written before flush returns, or said not to be."""

import asyncio
import uuid

import pytest
from confluent_kafka.admin import NewTopic

from replicator.config.security import Security
from replicator.offsets.offset_map import OffsetMap
from replicator.offsets.runs_publisher import RunsNotWritten, RunsPublisher
from replicator.offsets.runs_topic import (
    RunsKey,
    rebuild,
    runs_topic,
)
from replicator.offsets.stretch import Gathering, Run, Stretch


def keys(partitions: int) -> list[RunsKey]:
    return [RunsKey("flights", at, "c291cmNl", "dGFyZ2V0") for at in range(partitions)]


def stretches(begin: int, end: int) -> list[Stretch]:
    """Two runs a stretch, another region's records between all runs."""
    return [
        Stretch(
            10 * at, 10 * at + 10, (Run(10 * at, 20 * at, 5), Run(10 * at + 5, 20 * at + 10, 5))
        )
        for at in range(begin, end)
    ]


def learned(told: list[Stretch]) -> OffsetMap:
    offset_map = OffsetMap()
    for stretch in told:
        offset_map.learn(stretch)
    return offset_map


def create(cluster, route_key: str) -> None:
    topic = runs_topic(route_key)
    new = NewTopic(topic.name, topic.partitions, config=dict(topic.configs))
    admin = cluster.admin()
    admin.create_topics([new])[topic.name].result(30)


@pytest.fixture
def route_key(aggregate) -> str:
    """A route of its own with its runs topic."""
    name = f"west.{uuid.uuid4().hex[:8]}"
    create(aggregate, name)
    return name


def options(cluster):
    return cluster.librdkafka_options()


async def publisher(cluster, route_key: str, **more) -> RunsPublisher:
    security = Security.model_validate(cluster.credentials.security_table())
    bootstrap = cluster.bootstrap.split(",")
    made = RunsPublisher(bootstrap, route_key, security.aiokafka_options(), **more)
    await made.start()
    return made


async def test_what_was_flushed_is_read_back_exactly_whatever_was_repeated(aggregate, route_key):
    telling = await publisher(aggregate, route_key)
    for key in keys(20):
        await telling.publish((key, stretch) for stretch in stretches(0, 30))
        await telling.publish((key, stretch) for stretch in stretches(25, 40))
    await telling.flush()
    maps = rebuild(options(aggregate), route_key)
    await telling.stop()
    assert maps == {key: learned(stretches(0, 40)) for key in keys(20)}


async def test_the_largest_stretch_fits_a_message(aggregate, route_key):
    gathering, source, target = Gathering(0), 0, 0
    for _ in range(31_000):
        gathering.land(source, target, 1)
        source, target = source + 2**48, target + 2**48
    parts = gathering.take()
    assert len(parts) == 2
    telling = await publisher(aggregate, route_key)
    await telling.publish((keys(1)[0], part) for part in parts)
    await telling.flush()
    await telling.stop()
    assert rebuild(options(aggregate), route_key) == {keys(1)[0]: learned(parts)}


async def test_runs_survive_a_broker_that_is_killed_meanwhile(make_cluster):
    cluster = make_cluster("runs")
    create(cluster, "west.east")
    telling = await publisher(cluster, "west.east", request_timeout_ms=3000)
    (key,) = keys(1)
    await telling.publish((key, stretch) for stretch in stretches(0, 5))
    await telling.flush()
    cluster.kill_all()
    await telling.publish((key, stretch) for stretch in stretches(5, 9))
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
    assert rebuild(options(cluster), "west.east") == {key: learned(stretches(0, 9))}


async def test_a_cluster_behind_tls_and_a_password_is_told_and_read(make_cluster):
    cluster = make_cluster("secured", security="sasl_tls", mechanism="SCRAM-SHA-512")
    create(cluster, "west.east")
    telling = await publisher(cluster, "west.east")
    await telling.publish([(keys(1)[0], stretches(0, 1)[0])])
    await telling.flush()
    await telling.stop()
    assert rebuild(options(cluster), "west.east") == {keys(1)[0]: learned(stretches(0, 1))}


async def test_no_flush_returns_while_another_still_writes_what_was_published_before(make_cluster):
    cluster = make_cluster("paused")
    create(cluster, "west.east")
    telling = await publisher(cluster, "west.east")
    (key,) = keys(1)
    await telling.publish([(key, stretches(0, 1)[0])])
    await telling.flush()
    cluster.pause()
    try:
        await telling.publish((key, stretch) for stretch in stretches(1, 500))
        first = asyncio.create_task(telling.flush())
        await asyncio.sleep(0.1)
        second = asyncio.create_task(telling.flush())
        await telling.publish((key, stretch) for stretch in stretches(500, 510))
        third = asyncio.create_task(telling.flush())
        done, _ = await asyncio.wait([first, second, third], timeout=1)
        assert not done
        # Whoever gives up waiting does not take from the others what they wait for.
        first.cancel()
    finally:
        cluster.resume()
    await second
    assert rebuild(options(cluster), "west.east")[key].source_end >= 5000
    await third
    await telling.stop()
    assert rebuild(options(cluster), "west.east") == {key: learned(stretches(0, 510))}
