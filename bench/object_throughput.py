"""Throughput of the object cases: all systems write the same topic in turn.

CPU of the system's process tree, of the object server and of the broker are told apart.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.ground import say
from bench.measure import WARM_SECONDS_MAX, WARM_SHARE, NothingArrives, Tree
from bench.object_count import BucketCount
from bench.object_ground import Bucket
from bench.object_least import least_objects
from bench.object_system import ObjectOrder, ObjectSystem

LOOK_SECONDS = 0.1
BURST_GAP_SECONDS = 0.8
"""Time without new objects after which a burst is over."""
BURSTS_MIN = 3
WINDOW_SHARE_MIN = 0.05
"""Part of a run that a window lasts at least. Where all objects become visible at once, the records
that do in a second tell nothing of the rate of the work."""


@dataclass(frozen=True, slots=True)
class ObjectWindow:
    """A period of steady work."""

    records: int
    seconds: float
    cpu_seconds: float
    store_cpu_seconds: float
    brokers_cpu_seconds: float
    peak_rss_mb: float = 0.0

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds

    def per_million(self, cpu_seconds: float) -> float:
        return cpu_seconds / self.records * 1e6


@dataclass(frozen=True, slots=True)
class ObjectsFound:
    """Objects of a whole run, and the requests that they took."""

    objects: int
    objects_least: int
    requests: int


class Cost:
    """CPU and memory of a system, of the object server, and of the brokers."""

    def __init__(self, bucket: Bucket, system: ObjectSystem) -> None:
        self._system = Tree(system.process.pid)
        self._store = Tree(bucket.server.process.pid)
        self._brokers = [Tree(each.pid) for each in bucket.ground.kafka.processes.values()]

    def read(self, records: int) -> ObjectWindow:
        """Returns the cost so far; its seconds are those of a clock."""
        return ObjectWindow(
            records,
            time.monotonic(),
            self._system.cpu_seconds(),
            self._store.cpu_seconds(),
            sum(each.cpu_seconds() for each in self._brokers),
        )

    def since(self, begin: ObjectWindow, end: ObjectWindow) -> ObjectWindow:
        """Returns the window between two readings."""
        return ObjectWindow(
            end.records - begin.records,
            end.seconds - begin.seconds,
            end.cpu_seconds - begin.cpu_seconds,
            end.store_cpu_seconds - begin.store_cpu_seconds,
            end.brokers_cpu_seconds - begin.brokers_cpu_seconds,
            self.peak_rss_mb,
        )

    def look(self) -> None:
        """Updates the peak; cheap when called often."""
        self._system.look()

    @property
    def peak_rss_mb(self) -> float:
        """Peak of the system's process tree, without the store."""
        return self._system.peak_rss_mb


def measured(
    bucket: Bucket, system: ObjectSystem, order: ObjectOrder
) -> tuple[ObjectWindow | None, ObjectsFound]:
    """Returns the steady window of a started system, and what it has written in the end.

    There is no window of a system that shows all its objects at once.

    Objects become visible in bursts, and both ends of the window are ends of bursts. It begins with
    the first one after a fifth of the records, or 12 s after the first objects. It ends with the
    last one before the last record, so that no system waits in it for records that do not come.

    Raises NothingArrives.
    """
    cost, count = Cost(bucket, system), BucketCount(bucket, order)
    began_at, readings = time.monotonic(), list[ObjectWindow]()
    while count.records < order.load.rows:
        time.sleep(LOOK_SECONDS)
        cost.look()
        if not count.watch(system.process):
            continue
        readings.append(cost.read(count.records))
        if len(readings) == 1:
            say(f"  first objects after {readings[0].seconds - began_at:.1f} s")
    window = steady(readings, order.load.rows)
    if window is None:
        raise NothingArrives("too few objects to measure anything: load more")
    found = ObjectsFound(len(count.by_key), least_objects(order), bucket.requests())
    begin, end = window
    if end.seconds - begin.seconds < WINDOW_SHARE_MIN * (end.seconds - began_at):
        return None, found
    return cost.since(begin, end), found


def steady(
    readings: Sequence[ObjectWindow], records: int
) -> tuple[ObjectWindow, ObjectWindow] | None:
    """Returns the first and the last reading of the steady window; None if there is none.

    Args:
        readings: one at each look that found new objects.
        records: number of all.
    """
    ends = [
        reading
        for reading, following in pairwise(readings)
        if following.seconds - reading.seconds >= BURST_GAP_SECONDS
    ]
    # A system that writes at all times has no bursts.
    if len(ends) < BURSTS_MIN:
        ends = list(readings[:-1])
    warm = [
        each
        for each in ends
        if each.records >= records * WARM_SHARE
        or each.seconds - readings[0].seconds > WARM_SECONDS_MAX
    ]
    return (warm[0], warm[-1]) if len(warm) > 1 else None
