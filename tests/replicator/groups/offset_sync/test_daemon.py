"""Claims about the parts of the daemon, and about clusters that are one; no server is needed."""

from __future__ import annotations

import asyncio
import threading

import pytest

from replicator.groups.offset_sync.daemon import Daemon
from replicator.kafka.client.cluster_ids import SameCluster
from replicator.runtime.daemon import run_until_stopped
from replicator.runtime.exit_codes import Exit

SAME = SameCluster("both answer with cluster id x")


class Ids:
    """Cluster ids that clash at the first look, at a later one, or never."""

    def __init__(self, at_start: Exception | None = None, later: Exception | None = None) -> None:
        self._at_start, self._later = at_start, later

    async def compare_routes_into(self, region):
        if self._at_start:
            raise self._at_start

    async def compare_until_all_answer(self):
        await asyncio.sleep(0)
        if self._later:
            raise self._later


class Part:
    name = "part"

    def __init__(self) -> None:
        self.began, self.over = threading.Event(), threading.Event()

    def run(self) -> None:
        self.began.set()
        self.over.wait()

    def stop(self) -> None:
        self.over.set()


class Metrics:
    def __init__(self) -> None:
        self.served: list[bool] = []

    def start(self):
        self.served.append(True)

    def stop(self):
        if self.served:
            self.served.append(False)


@pytest.fixture
def part():
    part = Part()
    yield part
    part.over.set()


async def test_clusters_that_are_one_at_the_start_keep_the_parts_from_starting(part, caplog):
    metrics = Metrics()
    daemon = Daemon("east", [part], Ids(at_start=SAME), metrics)
    assert await run_until_stopped(daemon, "east") is Exit.MISCONFIGURED
    assert f"event=failed {SAME}" in caplog.text
    assert not part.began.is_set()
    assert metrics.served == []


async def test_clusters_that_show_as_one_later_end_the_daemon_and_its_parts(part):
    metrics = Metrics()
    daemon = Daemon("east", [part], Ids(later=SAME), metrics)
    assert await run_until_stopped(daemon, "east") is Exit.MISCONFIGURED
    assert part.began.is_set()
    assert part.over.is_set()
    assert not daemon.is_cut_off
    assert metrics.served == [True, False]


async def test_parts_run_until_the_daemon_is_cancelled(part):
    daemon = Daemon("east", [part], Ids(), Metrics())
    running = asyncio.ensure_future(daemon.run())
    assert await asyncio.to_thread(part.began.wait, 5.0)
    assert not running.done()
    running.cancel()
    await asyncio.wait({running})
    await daemon.wind_down(Exit.STOPPED)
    assert part.over.is_set()
