"""Feeding runs to a real Redis: outages, overflow, expiring reports; carriers never wait."""

import asyncio
import logging
import os
import socket
import time

import pytest

from deploy.lab.redis import RedisServer
from replicator.mirror.offset_map.carrier_reports import CarrierReports
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.redis_writer import RedisWriter
from replicator.mirror.offset_map.reports import PartitionReport
from tests.live.runs import KEY, ROUTE, fed, learned, loaded, stretches, told

pytestmark = pytest.mark.stores


async def until(condition, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to be"
        await asyncio.sleep(0.02)


def report(at: float, carrier: int = 0, partition: int = 3) -> PartitionReport:
    return PartitionReport(
        "west>east", "flights", partition, carrier, 1.5, None, 100, 90, 10, 0.5, None, at
    )


async def test_what_carriers_append_is_the_map_whatever_is_repeated(redis):
    await fed(redis.url, stretches(0, 30))
    await fed(redis.url, stretches(20, 40))
    with OffsetStore(redis.url, ROUTE) as store:
        assert store.keys() == [KEY]
        assert store.load(KEY) == learned(stretches(0, 40))
        assert loaded(store) == {KEY: learned(stretches(0, 40))}


async def test_an_outage_is_named_once_and_nothing_is_lost(tmp_path, caplog):
    server = RedisServer(tmp_path)
    writer = RedisWriter(server.url, ROUTE, 0, retry_seconds=0.05)
    await writer.start()
    try:
        with caplog.at_level(logging.WARNING):
            for stretch in stretches(0, 20):
                writer.append(KEY, [stretch])
                await asyncio.sleep(0.02)
            await until(lambda: writer.trouble is not None)
            server.start()
            server.wait_ready()
            await until(lambda: writer.trouble is None)
        said = [record.getMessage() for record in caplog.records]
        assert sum("event=runs-not-taken" in line for line in said) == 1
        assert sum("event=runs-taken-again" in line for line in said) == 1
        await writer.stop(drain_seconds=10)
        with OffsetStore(server.url, ROUTE) as store:
            assert store.load(KEY) == learned(stretches(0, 20))
    finally:
        server.kill()


async def test_what_does_not_fit_while_redis_is_away_is_left_out_and_redis_is_told(
    tmp_path,
):
    server = RedisServer(tmp_path)
    server.start()
    server.wait_ready()
    try:
        with OffsetStore(server.url, ROUTE) as store:
            assert store.rebuild(told(KEY, []))
            writer = RedisWriter(server.url, ROUTE, 0, pending_bytes_max=1000, retry_seconds=0.05)
            await writer.start()
            # The writer's task has not run yet, as when Redis does not answer.
            writer.append(KEY, stretches(0, 20))
            await writer.stop(drain_seconds=10)
            assert store.incomplete_reason() == "a carrier did not write all of its runs"
            assert 0 < len(store.load(KEY)) < len(learned(stretches(0, 20)))
            assert store.rebuild(told(KEY, stretches(0, 20)))
            assert store.incomplete_reason() is None
            assert store.load(KEY) == learned(stretches(0, 20))
    finally:
        server.kill()


async def test_a_redis_that_is_away_never_holds_up_the_carrier(tmp_path):
    writer = RedisWriter(RedisServer(tmp_path).url, ROUTE, 0)
    await writer.start()
    for _ in range(3):
        writer.append(KEY, stretches(0, 1000))
        writer.report([report(at=1.0)])
        await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await writer.stop(drain_seconds=0.1)


async def test_reports_show_the_newest_of_each_partition_and_expire(redis):
    old = RedisWriter(redis.url, ROUTE, 0, report_expiry_seconds=0.3)
    new = RedisWriter(redis.url, ROUTE, 1)
    for writer in (old, new):
        await writer.start()
    old.report([report(at=1.0), report(at=1.0, partition=4)])
    new.report([report(at=2.0, carrier=1)])
    with CarrierReports(redis.url) as store:

        def reports():
            (found,) = store.reports([ROUTE])
            return found

        await until(lambda: len(reports()) == 2)
        await until(lambda: reports()["west>east", "flights", 3].carrier == 1)
        await until(lambda: len(reports()) == 1)
        (found,) = reports().values()
        assert (found.host, found.pid) == (socket.gethostname(), os.getpid())
        await old.stop()
        await new.stop()
        assert reports() == {}
