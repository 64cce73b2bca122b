"""Kills of the object cases: kill -9 of the whole system under load, and every record is counted.

Each kill waits until objects appear again after the former one. At the end all objects are read:
each record has an id of its own.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

import numpy as np

from bench.feed_producer import PacedProducer
from bench.ground import say
from bench.measure import START_SECONDS_MAX, NothingArrives
from bench.object_count import BucketCount
from bench.object_ground import Bucket
from bench.object_system import ObjectOrder, ObjectSystem
from bench.object_throughput import Cost

AT_WORK_SECONDS = 4.0
CATCH_UP_SECONDS_MAX = 180.0
QUIET_CLOSINGS = 3.0
"""Closings without new objects after which the bucket counts as final."""
LINGER_MS = 20.0
LOOK_SECONDS = 0.5
_ID = re.compile(rb'"id":([0-9]+)')


@dataclass(frozen=True, slots=True)
class ObjectsCounted:
    """Counts after the last kill."""

    sent: int
    kills: int
    objects: int
    duplicates: int
    lost: int
    peak_rss_mb: float


def measured(
    bucket: Bucket,
    system: ObjectSystem,
    order: ObjectOrder,
    *,
    kills: int,
    records_per_second: int,
    every_seconds: float,
) -> ObjectsCounted:
    """Measures a started system. Raises NothingArrives if it does not write again after a kill."""
    count = BucketCount(bucket, order)
    producer = PacedProducer(
        bucket.ground.kafka, order.load.topic, records_per_second, linger_ms=LINGER_MS
    )
    producer.start()
    try:
        peak_rss_mb = _under_fire(bucket, system, count, kills, every_seconds)
    finally:
        producer.stop()
    _catch_up(count, producer.sent, QUIET_CLOSINGS * order.close_seconds)
    copies = np.bincount(ids(bucket), minlength=producer.sent)
    found = ObjectsCounted(
        producer.sent,
        kills,
        len(count.by_key),
        int(np.maximum(copies - 1, 0).sum()),
        int((copies[: producer.sent] == 0).sum()),
        peak_rss_mb,
    )
    say(
        f"  {found.sent:,} records, {kills} kills: {found.duplicates:,} duplicates,"
        f" {found.lost:,} lost, {found.objects} objects"
    )
    return found


def ids(bucket: Bucket) -> list[int]:
    """Returns the ids of the records in all objects, read through the store."""
    client, found = bucket.client(), list[int]()
    for key in bucket.objects():
        body = client.get_object(Bucket=bucket.name, Key=key)["Body"].read()
        found += map(int, _ID.findall(body))
    return found


def _under_fire(
    bucket: Bucket,
    system: ObjectSystem,
    count: BucketCount,
    kills: int,
    every_seconds: float,
) -> float:
    """Kills repeatedly. Returns the peak memory in MB."""
    peak_rss_mb, killed_at, there = 0.0, time.monotonic(), 0
    for number in range(1, kills + 1):
        _wait_for_more(count, there)
        cost = Cost(bucket, system)
        kill_at = max(killed_at + every_seconds, time.monotonic() + AT_WORK_SECONDS)
        while time.monotonic() < kill_at:
            cost.look()
            time.sleep(LOOK_SECONDS)
        peak_rss_mb = max(peak_rss_mb, cost.peak_rss_mb)
        count.look()
        there = count.records
        say(f"  kill {number} of {kills}; {there:,} records")
        killed_at = time.monotonic()
        system.kill()
        system.start()
    _wait_for_more(count, there)
    return peak_rss_mb


def _wait_for_more(count: BucketCount, there: int) -> None:
    """Waits for new objects: a kill of a system that writes nothing proves nothing."""
    give_up_at = time.monotonic() + START_SECONDS_MAX
    while count.records <= there:
        if time.monotonic() > give_up_at:
            raise NothingArrives(f"no objects in {START_SECONDS_MAX:.0f} s after {there:,} records")
        time.sleep(LOOK_SECONDS)
        count.look()


def _catch_up(count: BucketCount, sent: int, quiet_seconds: float) -> None:
    """Waits until all records have arrived and no more come."""
    moved_at = time.monotonic()
    give_up_at = moved_at + CATCH_UP_SECONDS_MAX
    while time.monotonic() < give_up_at:
        time.sleep(LOOK_SECONDS)
        if count.look():
            moved_at = time.monotonic()
        if count.records >= sent and time.monotonic() - moved_at > quiet_seconds:
            return
    say(f"  not caught up after {CATCH_UP_SECONDS_MAX:.0f} s: {count.records:,} of {sent:,}")
