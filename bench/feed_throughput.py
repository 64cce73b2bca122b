"""Throughput of the feed cases: all systems load the same topic in turn.

CPU is that of the system's process tree and of all ClickHouse servers together.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench.feed_ground import FeedShard
from bench.feed_system import FeedSystem
from bench.ground import say
from bench.measure import (
    SILENCE_SECONDS_MAX,
    START_SECONDS_MAX,
    WARM_SECONDS_MAX,
    WARM_SHARE,
    NothingArrives,
    Tree,
)
from deploy.lab.process import Process

LOOK_SECONDS = 0.05
BUSY_SHARE = 0.9
"""Part of the records at which the window ends: later some partitions have nothing left."""


@dataclass(frozen=True, slots=True)
class FeedWindow:
    """A period of steady work."""

    rows: int
    seconds: float
    loaders_cpu_seconds: float
    """CPU time of the system's process tree beside the servers."""
    servers_cpu_seconds: float
    """CPU time of the ClickHouse servers."""
    brokers_cpu_seconds: float
    """CPU time of the Kafka broker; a part of no figure."""
    peak_rss_mb: float = 0.0

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds

    @property
    def cpu_seconds_per_million(self) -> float:
        return (self.loaders_cpu_seconds + self.servers_cpu_seconds) / self.rows * 1e6

    @property
    def brokers_cpu_seconds_per_million(self) -> float:
        return self.brokers_cpu_seconds / self.rows * 1e6


class Cost:
    """CPU and memory of a system and its servers, and of the brokers apart from them."""

    def __init__(self, shard: FeedShard, system: FeedSystem) -> None:
        self._servers = _trees([server.process for server in shard.servers])
        self._loaders = _trees([system.process] if system.process is not None else [])
        self._brokers = _trees(list(shard.ground.kafka.processes.values()))

    def servers_cpu_seconds(self) -> float:
        return sum(tree.cpu_seconds() for tree in self._servers)

    def loaders_cpu_seconds(self) -> float:
        return sum(tree.cpu_seconds() for tree in self._loaders)

    def brokers_cpu_seconds(self) -> float:
        return sum(tree.cpu_seconds() for tree in self._brokers)

    def read(self, rows: int) -> FeedWindow:
        """Returns the cost so far; its seconds are those of a clock."""
        return FeedWindow(
            rows,
            time.monotonic(),
            self.loaders_cpu_seconds(),
            self.servers_cpu_seconds(),
            self.brokers_cpu_seconds(),
        )

    def since(self, begin: FeedWindow, end: FeedWindow) -> FeedWindow:
        """Returns the window between two readings."""
        return FeedWindow(
            end.rows - begin.rows,
            end.seconds - begin.seconds,
            end.loaders_cpu_seconds - begin.loaders_cpu_seconds,
            end.servers_cpu_seconds - begin.servers_cpu_seconds,
            end.brokers_cpu_seconds - begin.brokers_cpu_seconds,
            self.peak_rss_mb,
        )

    def look(self) -> None:
        """Updates the peak; cheap when called often."""
        for tree in (*self._servers, *self._loaders):
            tree.look()

    @property
    def peak_rss_mb(self) -> float:
        return sum(tree.peak_rss_mb for tree in (*self._servers, *self._loaders))


def _trees(processes: Sequence[Process]) -> list[Tree]:
    return [Tree(process.pid) for process in processes]


class Arrivals:
    """Number of rows that have arrived, with a check that it still grows."""

    def __init__(self, system: FeedSystem) -> None:
        self._system = system
        self.rows = 0
        self._moved_at = time.monotonic()

    def look(self) -> bool:
        """Returns True if rows have arrived since the last look.

        Raises NothingArrives if the system has ended, or nothing arrives for too long.
        """
        process = self._system.process
        if process is not None and not process.is_running():
            raise NothingArrives(str(process.failure("has ended")))
        rows, before = self._system.rows(), self.rows
        if rows != before:
            self.rows, self._moved_at = rows, time.monotonic()
        patience = SILENCE_SECONDS_MAX if rows else START_SECONDS_MAX
        if time.monotonic() - self._moved_at > patience:
            text = f"has loaded nothing for {patience:.0f} s, after {rows:,} rows"
            raise NothingArrives(str(process.failure(text)) if process else f"the server {text}")
        return rows != before


def measured(shard: FeedShard, system: FeedSystem, rows: int, *, seconds_max: float) -> FeedWindow:
    """Returns the steady window of a started system that has so many rows to load.

    The window begins when a fifth of the rows has arrived, or 12 s after the first. It ends with
    BUSY_SHARE of the rows, or after seconds_max. Both ends are moments at which rows arrive.

    Raises NothingArrives.
    """
    cost, arrivals = Cost(shard, system), Arrivals(system)
    began_at, first_at = time.monotonic(), None
    begin: FeedWindow | None = None
    end: FeedWindow | None = None
    while True:
        has_moved, now = arrivals.look(), time.monotonic()
        cost.look()
        if has_moved:
            if first_at is None:
                first_at = now
                say(f"  first rows after {now - began_at:.1f} s")
            is_warm = arrivals.rows >= rows * WARM_SHARE or now - first_at > WARM_SECONDS_MAX
            if begin is not None:
                end = cost.read(arrivals.rows)
            elif is_warm:
                begin = cost.read(arrivals.rows)
        is_over = arrivals.rows >= rows * BUSY_SHARE
        if is_over or (begin is not None and now - begin.seconds >= seconds_max):
            break
        time.sleep(LOOK_SECONDS)
    if begin is None or end is None:
        raise NothingArrives("too few records to measure anything: load more")
    return cost.since(begin, end)
