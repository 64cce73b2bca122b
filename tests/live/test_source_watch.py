"""Traffic measurement of a source, with and without its history server."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager, suppress

from balancer.topic_partition import TopicPartition
from deploy.lab.wait import until
from replicator.config.balance_settings import BalanceSettings
from replicator.placement.rounds.source_watch import SourceWatch
from tests.live.regions import Regions


def now_ms():
    return time.time_ns() // 1_000_000


async def comes_true(condition):
    return await asyncio.to_thread(until, condition, 60)


def watch_of(regional, aggregate, redis, history):
    """Returns a source watch that samples twice a second."""
    regions = Regions({"west": regional}, aggregate, redis)
    appliance = regions.appliance("earliest", {})
    often = appliance.model_copy(update={"balance": BalanceSettings(sample_seconds=0.5)})
    return SourceWatch(often, regions.routes["west"], history)


@asynccontextmanager
async def running(watch):
    task = asyncio.create_task(watch.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await watch.close()


async def test_traffic_is_measured_while_its_history_is_away_which_is_said_once(
    kept_apart, regional, aggregate, redis, make_topic, caplog
):
    place = TopicPartition(make_topic(regional), 0)
    server, history = kept_apart.server, kept_apart.of()
    await asyncio.to_thread(server.stop)
    watch = watch_of(regional, aggregate, redis, history)
    watch.set_partitions([place])
    with caplog.at_level(logging.INFO, logger="replicator.placement.rounds.source_watch"):
        async with running(watch):
            assert await comes_true(lambda: watch.degraded(now_ms()) is None)
            assert place in watch.rates(now_ms())
            server.start()
            await asyncio.to_thread(server.wait_ready)
            assert await comes_true(lambda: "event=traffic-seen" in caplog.text)
    [said] = [line for line in caplog.messages if "event=traffic-unseen" in line]
    assert "history: " in said and str(server.port) in said
    assert list(history.fine(0, now_ms()))


async def test_a_watch_that_starts_expects_what_another_one_saw(
    kept, regional, aggregate, redis, make_topic
):
    place = TopicPartition(make_topic(regional), 0)
    first = watch_of(regional, aggregate, redis, kept.of())
    first.set_partitions([place])
    async with running(first):
        assert await comes_true(lambda: list(kept.of().fine(0, now_ms())))
    second = watch_of(regional, aggregate, redis, kept.of())
    await second.load()
    assert place in second.rates(now_ms())
    await second.close()
