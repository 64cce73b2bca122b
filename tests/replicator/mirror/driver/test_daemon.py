"""Daemon of the driver: its start, its files, its upkeep and its lines about epochs."""

import asyncio
import logging
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace

import pyarrow as pa
import pytest

from replicator.config.topology import Appliance, KafkaCluster, Region, Route, UnknownRegion
from replicator.mirror.carrier.receipts import Receipt, to_arrow
from replicator.mirror.driver.daemon import Daemon, keep_maps, report
from replicator.mirror.driver.start import run
from replicator.spark.driver_daemon import Run
from replicator.spark.posting import ApplianceFile

# -- Daemon: its files.


def cluster(port):
    return KafkaCluster(bootstrap=(f"127.0.0.1:{port}",))


def test_the_daemon_leaves_its_appliance_for_the_streams_reader(tmp_path):
    east = Region(
        name="east", regional=cluster(1), aggregate=cluster(2), redis="redis://127.0.0.1:1"
    )
    appliance = Appliance(regions={"east": east}, routes=(Route("east", "east"),))
    Daemon(Run(appliance, "east", tmp_path, jvm=None))
    assert ApplianceFile(tmp_path / "appliance.pickle").read() == appliance


# -- Steps of `sluice replicate` before Spark's JVM is launched.

CONFIG = """
routes = ["east>west"]

[regions.west]
redis = "redis://127.0.0.1:1"
regional = { bootstrap = ["127.0.0.1:3"] }
aggregate = { bootstrap = ["127.0.0.1:4"] }

[regions.east]
redis = "redis://127.0.0.1:1"
regional = { bootstrap = ["127.0.0.1:1"] }
aggregate = { bootstrap = ["127.0.0.1:2"] }
"""
LARGE = ("aiokafka", "confluent_kafka", "numpy", "pyarrow", "redis")


def test_a_region_without_routes_is_refused(tmp_path):
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG)
    with pytest.raises(UnknownRegion, match="no route leads into"):
        run(file, "east")


def test_no_large_module_delays_the_jvm():
    script = "import sys, replicator.mirror.driver.start; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert set(LARGE).isdisjoint(told.stdout.decode().split())


# -- An epoch is summed up in one line; each parked partition has a line of its own.

RECEIPT = Receipt(
    route="west>east",
    topic="orders",
    partition=3,
    carrier=0,
    plan_version=1,
    source_begin=0,
    source_end=10,
    target_begin=0,
    target_end=10,
    records=10,
    bytes=1000,
    batches_unopened=1,
    batches_opened=0,
    state="released",
    reason="",
    began_at=0.0,
    ended_at=59.5,
)


def test_an_epoch_is_summed_up_and_parked_partitions_are_named(caplog):
    parked = replace(
        RECEIPT, partition=4, plan_version=2, state="parked", reason="it is lost", ended_at=60.0
    )
    with caplog.at_level(logging.INFO):
        report(pa.Table.from_batches([to_arrow([RECEIPT, parked])]), 7)
    assert caplog.messages == [
        "event=epoch-over epoch=7 plan=2 records=20 bytes=2000 unopened=2 opened=0 partitions=2 "
        "released=1 parked=1 seconds=60.0",
        "event=is-parked west>east orders-4 [0, 10) 10 records parked: it is lost",
    ]


# -- Upkeep of offset maps: nothing that fails ends it.


class Keeper:
    def __init__(self):
        self.rounds = 0
        self.is_third = threading.Event()

    def keep(self):
        self.rounds += 1
        if self.rounds == 1:
            raise ConnectionError("Redis is away")
        if self.rounds == 3:
            self.is_third.set()


async def test_upkeep_goes_on_after_a_missing_password_and_a_failed_round():
    keeper, failures = Keeper(), [OSError("no password file"), OSError("no password file")]

    def make():
        if failures:
            raise failures.pop()
        return keeper

    keeping = asyncio.ensure_future(keep_maps(make, seconds=0.001))
    assert await asyncio.to_thread(keeper.is_third.wait, 5.0)
    assert not keeping.done()
    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping
