"""Telling runs to a real cluster: written before flush returns, or said not to be."""

import asyncio

import pytest

from replicator.offsets.runs_publisher import RunsNotWritten
from replicator.offsets.runs_topic import rebuild
from replicator.offsets.stretch import Gathering
from tests.live.runs import KEY, create_runs_topic, keys, learned, publisher, stretches


async def test_what_was_flushed_is_read_back_exactly_whatever_was_repeated(aggregate, route_key):
    telling = await publisher(aggregate, route_key)
    for key in keys(20):
        await telling.publish((key, stretch) for stretch in stretches(0, 30))
        await telling.publish((key, stretch) for stretch in stretches(25, 40))
    await telling.flush()
    maps = rebuild(aggregate.librdkafka_options(), route_key)
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
    await telling.publish((KEY, part) for part in parts)
    await telling.flush()
    await telling.stop()
    assert rebuild(aggregate.librdkafka_options(), route_key) == {KEY: learned(parts)}


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
    assert rebuild(cluster.librdkafka_options(), "west.east") == {KEY: learned(stretches(0, 9))}


async def test_a_cluster_behind_tls_and_a_password_is_told_and_read(make_cluster):
    cluster = make_cluster("secured", security="sasl_tls", mechanism="SCRAM-SHA-512")
    create_runs_topic(cluster, "west.east")
    telling = await publisher(cluster, "west.east")
    await telling.publish([(KEY, stretches(0, 1)[0])])
    await telling.flush()
    await telling.stop()
    assert rebuild(cluster.librdkafka_options(), "west.east") == {KEY: learned(stretches(0, 1))}


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
        # Whoever gives up waiting does not take from the others what they wait for.
        first.cancel()
    finally:
        cluster.resume()
    await second
    assert rebuild(cluster.librdkafka_options(), "west.east")[KEY].source_end >= 5000
    await third
    await telling.stop()
    assert rebuild(cluster.librdkafka_options(), "west.east") == {KEY: learned(stretches(0, 510))}
