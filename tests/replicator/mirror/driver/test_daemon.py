"""Claims about the daemon that need no server: how it ends, and what never ends it."""

import asyncio
from contextlib import suppress

import pytest

from replicator.config.topology import Appliance, KafkaCluster, Region, Route
from replicator.kafka.admin.admin_error import Refused
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Fenced
from replicator.kafka.client.cluster_ids import SameCluster
from replicator.mirror.driver import daemon
from replicator.mirror.driver.daemon import Daemon, verdict
from replicator.mirror.driver.planner import Planner
from replicator.runtime.exit_codes import Exit, decisive
from replicator.spark.driver_command import TermSuperseded
from replicator.spark.posting import ApplianceFile

REFUSED, FENCED = Refused("east aggregate", "no"), Fenced("east aggregate", [90])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FENCED, Exit.FENCED),
        (ExceptionGroup("", [REFUSED, FENCED]), Exit.FENCED),
        (ExceptionGroup("", [REFUSED, ExceptionGroup("", [TermSuperseded("x")])]), Exit.FENCED),
        (ExceptionGroup("", [ExceptionGroup("", [Unreachable("x")])]), Exit.UNREACHABLE),
        (ExceptionGroup("", [REFUSED, KeyError("x")]), Exit.FAILED),
        (ExceptionGroup("", [SameCluster("x")]), Exit.MISCONFIGURED),
        (ExceptionGroup("", [SameCluster("x"), FENCED]), Exit.FENCED),
    ],
)
def test_a_newer_driver_decides_the_exit_code_whatever_else_failed(error, code):
    assert verdict(decisive(error, (Fenced, TermSuperseded)), is_succeeded=True) is code


def test_a_fence_that_is_no_newer_drivers_is_a_failure_that_a_restart_mends():
    assert verdict(FENCED, is_succeeded=False) is Exit.FAILED


def cluster(port):
    return KafkaCluster(bootstrap=(f"127.0.0.1:{port}",))


@pytest.fixture
def secret(tmp_path):
    file = tmp_path / "redis-password"
    file.write_text("sesame")
    return file


@pytest.fixture
def east(tmp_path, secret):
    east = Region(
        name="east",
        regional=cluster(1),
        aggregate=cluster(2),
        redis="redis://127.0.0.1:1",
        redis_password_file=secret,
    )
    appliance = Appliance(regions={"east": east}, routes=(Route("east", "east"),))
    return Daemon(appliance, "east", tmp_path, Planner(), ())


async def test_a_redis_without_its_password_never_ends_the_daemon(east, secret, monkeypatch):
    kept = asyncio.Event()

    class Keeper:
        def __init__(self, region, routes):
            region.redis_url()

        def keep(self):
            kept.set()

    async def run_in_thread(function, *arguments):
        return function(*arguments)

    monkeypatch.setattr(daemon, "OFFSETS_SECONDS", 0.01)
    monkeypatch.setattr(daemon, "OffsetKeeper", Keeper)
    monkeypatch.setattr(daemon, "run_in_thread", run_in_thread)
    secret.unlink()
    keeping = asyncio.ensure_future(east._keep_offsets())
    await asyncio.sleep(0.05)
    assert not keeping.done()
    secret.write_text("sesame")
    async with asyncio.timeout(5):
        await kept.wait()
    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping


def test_the_daemon_leaves_its_appliance_for_the_streams_reader(east, tmp_path):
    assert ApplianceFile(tmp_path / "appliance.pickle").read() == east._appliance
