"""Time from produce() to the first listing that shows the record's object.

The topic gets 2 000 documents a second. A reader lists the bucket again and again, and reads the
ids of each new object. One process stamps both ends with one clock.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.feed_producer import PacedProducer
from bench.ground import say
from bench.measure import NothingArrives
from bench.object_count import BucketCount
from bench.object_ground import Bucket
from bench.object_system import ObjectOrder, ObjectSystem
from bench.object_throughput import LOOK_SECONDS, Cost, ObjectWindow

RECORDS_PER_SECOND = 2000
STRAGGLER_CLOSINGS = 6.0
"""Closings after which a record counts as never written."""
_ID = re.compile(rb'"id":([0-9]+)')


@dataclass(frozen=True, slots=True)
class Visible:
    """Seconds until records are visible, and the cost in the same window."""

    p50: float
    p99: float
    worst: float
    window: ObjectWindow


def measured(
    bucket: Bucket,
    system: ObjectSystem,
    order: ObjectOrder,
    *,
    warm_seconds: float,
    seconds: float,
) -> Visible:
    """Measures a started system. Raises NothingArrives if a record is never written."""
    producer = PacedProducer(bucket.ground.kafka, order.load.topic, RECORDS_PER_SECOND)
    reader = _Reader(BucketCount(bucket, order))
    producer.start()
    try:
        while not reader.look(system):
            time.sleep(LOOK_SECONDS)
        reader.look_for(system, warm_seconds)
        cost, first, began_at = Cost(bucket, system), producer.sent, time.monotonic()
        begin = cost.read(first)
        while time.monotonic() - began_at < seconds:
            reader.look_for(system, LOOK_SECONDS)
            cost.look()
        last = producer.sent
        window = cost.since(begin, cost.read(last))
        reader.look_for(system, STRAGGLER_CLOSINGS * order.close_seconds, until_id=last)
    finally:
        producer.stop()
    seen = reader.seen_at[first:last]
    if len(seen) < last - first or not seen.all():
        raise NothingArrives(f"{(seen == 0).sum():,} of {last - first:,} records are never visible")
    taken = seen - np.array(producer.produced_at[first:last])
    p50, p99 = np.percentile(taken, (50, 99)).tolist()
    found = Visible(p50, p99, float(taken.max()), window)
    say(f"  visible after p50 {p50:.1f} s, p99 {p99:.1f} s, worst {found.worst:.1f} s")
    return found


class _Reader:
    """Lists the bucket, and notes when each id was visible first."""

    def __init__(self, count: BucketCount) -> None:
        self._count = count
        self.seen_at: npt.NDArray[np.float64] = np.zeros(1 << 20)
        """Time by id, by perf_counter; 0: not yet."""

    def look(self, system: ObjectSystem) -> bool:
        """Looks once; returns True if there are new objects."""
        new = self._count.watch(system.process)
        now = time.perf_counter()
        for path in new.values():
            ids = np.array([int(each) for each in _ID.findall(path.read_bytes())], np.int64)
            if len(ids) and (lack := int(ids.max()) + 1 - len(self.seen_at)) > 0:
                self.seen_at = np.concatenate([self.seen_at, np.zeros(lack + len(ids))])
            self.seen_at[ids[self.seen_at[ids] == 0]] = now
        return bool(new)

    def look_for(
        self, system: ObjectSystem, seconds: float, *, until_id: int | None = None
    ) -> None:
        """Looks for so long, or until all ids below one are visible."""
        give_up_at = time.monotonic() + seconds
        while time.monotonic() < give_up_at:
            self.look(system)
            if until_id is not None and self.seen_at[:until_id].all():
                return
            time.sleep(LOOK_SECONDS)
