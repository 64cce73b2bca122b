"""Daemon in a world: the product's keeper of an upsert table, as a process of one host.

Each host keeps checkpoints of its own, so that a daemon which comes back to a host finds an old
state there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggregator.driver import upsert_tables
from aggregator.driver.upsert_tables import UpsertTables
from aggregator.upsert import (
    fact_reader,
    horizon,
    row_task,
    server_levels,
    settle_schedule,
    settling,
)
from aggregator.upsert.cluster_logs import ClusterLogs
from aggregator.upsert.fact_reader import UpsertFactReader
from aggregator.upsert.horizon import Horizon
from aggregator.upsert.range_reader import RangeReader
from replicator.config.topology import Appliance
from replicator.kafka.client.epoch_regress import EpochRegress
from replicator.notices.conditions import Conditions
from replicator.orders.order_log import OrderLog
from tests.world.blocking import in_thread, pause, wait
from tests.world.kafka.admin import WorldAdmin
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.process import CURRENT, Process
from tests.world.sinks.loaded_feed import REGION
from tests.world.upserts import world_store
from tests.world.upserts.spark import PlayedCoordinator, Posting, Worker
from tests.world.upserts.stored import TICKS_PER_PARTITION

if TYPE_CHECKING:
    from tests.world.upserts.scene import Course

LOOK_SECONDS = 0.5
REFRESH_SECONDS = 2.0
HORIZON_WAIT_SECONDS, HORIZON_LOOK_SECONDS, HORIZON_STEP_MS = 1.5, 1.0, 1000
"""A query of a world takes no time, and a history lasts a minute."""
_workers: dict[Process, Worker] = {}


class Tables(UpsertTables):
    """Upsert tables of a daemon.

    Args:
        clusters: by the products' names for them.
    """

    clusters: Mapping[str, KafkaCluster]

    def _logs(self, name: Any, cluster: Any, feed: Any, table: Any, changed: Any) -> ClusterLogs:
        admin = WorldAdmin(name, self.appliance.cluster(name), self.clusters[name])
        takes, regress = partial(feed.keeps, table), EpochRegress(cluster)
        return ClusterLogs(
            name, admin, cluster, regress, takes, LOOK_SECONDS, REFRESH_SECONDS, changed
        )

    def _wait(self, seconds: float) -> None:
        pause(seconds)


class Daemon:
    """Daemon with its process.

    Args:
        number: in the order of starts.
        order_log: returns all orders that are known.
        newest: returns the number of the daemon that was started last.
        states: see PlayedCoordinator.
        clock_ahead: seconds by which its wall clock is ahead.
    """

    def __init__(
        self,
        number: int,
        appliance: Appliance,
        clusters: Mapping[str, KafkaCluster],
        order_log: Callable[[], OrderLog],
        newest: Callable[[], int],
        states: dict[tuple[Path, int], Any],
        clock_ahead: float,
    ) -> None:
        self.number = number
        self.process = Process(f"daemon {number}")
        self.process.clock_ahead = clock_ahead
        self.conditions = Conditions(self.process.name)

        async def has_successor() -> bool:
            return newest() != number

        self.tables = Tables(
            appliance, REGION, Path("nowhere"), self.conditions, order_log, has_successor
        )
        self.tables.clusters = clusters
        self.process.start(self.tables.keep(states))  # type: ignore[arg-type]

    @property
    def is_running(self) -> bool:
        return not (self.process.is_dead or self.process.has_ended)


class WorldThread:
    """Thread of a world, in the place of threading.Thread."""

    def __init__(self, target: Callable[..., object], args: tuple[Any, ...], daemon: bool) -> None:
        self._target, self._args = target, args

    def start(self) -> None:
        async def begun() -> Any:
            task = asyncio.create_task(in_thread(self._target, *self._args))
            if process := CURRENT.get():
                process.at_kill.append(task.cancel)
                task.add_done_callback(lambda _: process.at_kill.remove(task.cancel))
            return task

        self._task = wait(begun)

    def join(self, seconds: float) -> None:
        async def joined() -> None:
            await asyncio.wait([self._task], timeout=seconds)

        wait(joined)


def worker_of(appliance: Appliance, feed: str, table: str) -> Worker:
    """Returns the worker of the process that asks."""
    process = CURRENT.get()
    assert process is not None
    if process not in _workers:
        settings: Any = appliance.feed(feed)
        _workers[process] = Worker(appliance, settings, settings.tables[table])
    return _workers[process]


@contextmanager
def played(course: Course) -> Iterator[None]:
    """Has the product's own makers make what this world has, with times of its own."""
    patience = course.patience_seconds
    places: list[tuple[Any, str, Any]] = [
        (upsert_tables, "UpsertFactReader", partial(UpsertFactReader, patience_seconds=patience)),
        (upsert_tables, "RangeReader", partial(RangeReader, patience_seconds=patience)),
        (settle_schedule, "Horizon", partial(Horizon, wait_seconds=HORIZON_WAIT_SECONDS)),
        (horizon, "LOOK_SECONDS", HORIZON_LOOK_SECONDS),
        (horizon, "STEP_MS", HORIZON_STEP_MS),
        (horizon, "TICKS_PER_PARTITION", TICKS_PER_PARTITION),
        (upsert_tables, "store_of", world_store.store_of),
        (upsert_tables, "KeyCoordinator", PlayedCoordinator),
        (upsert_tables, "TickPostingFile", Posting),
        (fact_reader, "worker_of", worker_of),
        (row_task, "worker_of", worker_of),
        (server_levels, "Thread", WorldThread),
        (settling.secrets, "randbits", lambda bits: world_store.dice().getrandbits(bits)),
    ]
    before = [(of, name, getattr(of, name)) for of, name, _ in places]
    for of, name, made in places:
        setattr(of, name, made)
    try:
        yield
    finally:
        for of, name, made in before:
            setattr(of, name, made)
        _workers.clear()
