"""Traffic history of a source region in Redis. Not authoritative: FLUSHALL loses history only.

    sluice:traffic:<source region>:fine:<ms>      hash: end time of a look -> its windows
    sluice:traffic:<source region>:coarse:<ms>    sums over the same ten minutes

<ms> is the start of a ten-minute interval. All key names follow from the time, so no search is
needed. Values are packed (packed_windows.py). Hashes expire 80 minutes after their last write. Sums
are computed by the first write after the interval, and expire 26.5 hours later. Two concurrent
writers, as during a change of balancers, do not interfere.

With 100 000 partitions of mixed traffic a window takes 4.6 bytes in memory and a sum 5.2. The looks
of 80 to 90 minutes, one a minute, take 40 MB, and the sums 83 MB. A write takes 0.2 s, and 1.7 s if
it computes sums.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Self

import redis

from balancer.demand.window import Window
from balancer.demand.window_columns import WindowColumns, summed
from balancer.topic_partition import TopicPartition
from replicator.placement.traffic.packed_windows import BrokenWindows, UnknownVersion, pack, unpack
from replicator.placement.traffic.traffic_history import (
    COARSE_SECONDS,
    FINE_SECONDS,
    INTERVAL_MS,
    MEANWHILE,
    interval_start,
)
from replicator.runtime.store_errors import reached, redis_name

logger = logging.getLogger(__name__)


class RedisHistory:
    """TrafficHistory in Redis.

    Args:
        source_region: region of the measured logs.
        timeout_seconds: for each answer.
        fine_seconds, coarse_seconds: time for which windows and sums are kept.
    """

    def __init__(
        self,
        url: str,
        source_region: str,
        timeout_seconds: float = 5.0,
        *,
        fine_seconds: int = FINE_SECONDS,
        coarse_seconds: int = COARSE_SECONDS,
    ) -> None:
        self._fine_seconds, self._coarse_seconds = fine_seconds, coarse_seconds
        self._name = redis_name(url)
        self._prefix = f"sluice:traffic:{source_region}"
        self._summed_until: int | None = None
        self._redis: redis.Redis = redis.Redis.from_url(
            url, socket_timeout=timeout_seconds, socket_connect_timeout=timeout_seconds
        )

    def close(self) -> None:
        self._redis.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, windows: Mapping[TopicPartition, Window]) -> None:
        """Stores the windows of one look, and sums up the ten-minute intervals that ended before
        it.

        Raises:
            StoreUnreachable: the windows may be written or not. Writing them again does no harm.
        """
        if not windows:
            return
        columns = WindowColumns.of(windows)
        end_ms = int(columns.ends_ms.max())
        interval_ms = interval_start(end_ms)
        name = self._fine(interval_ms)
        with self._reached(), self._redis.pipeline(transaction=True) as pipeline:
            pipeline.hset(name, str(end_ms), pack(columns))
            pipeline.expire(name, self._fine_seconds)
            pipeline.execute()
        if self._summed_until != interval_ms:
            self._sum_up(interval_ms)
            self._summed_until = interval_ms

    def fine(self, begin_ms: int, end_ms: int) -> Iterator[WindowColumns]:
        """Yields the stored windows that end in (begin_ms, end_ms], look by look.

        Windows that ended more than 80 minutes before end_ms are left out.

        Raises:
            StoreUnreachable: also during iteration.
        """
        begin_ms = max(begin_ms, end_ms - self._fine_seconds * 1000)
        for interval_ms in _intervals(begin_ms, end_ms):
            with self._reached():
                values: Any = self._redis.hvals(self._fine(interval_ms))
            looks = (look.ending(begin_ms, end_ms) for look in _unpacked(values, interval_ms))
            yield from sorted(filter(len, looks), key=lambda look: int(look.ends_ms.max()))

    def coarse(self, begin_ms: int, end_ms: int) -> Iterator[WindowColumns]:
        """Yields the ten-minute sums that end in (begin_ms, end_ms], one interval at a time.

        Sums that ended more than 26.5 hours before end_ms are left out.

        Raises:
            StoreUnreachable: also during iteration.
        """
        begin_ms = max(begin_ms, end_ms - self._coarse_seconds * 1000)
        for interval_ms in _intervals(begin_ms, end_ms):
            with self._reached():
                value: Any = self._redis.get(self._coarse(interval_ms))
            for sums in _unpacked([value] if value else [], interval_ms):
                kept = sums.ending(begin_ms, end_ms)
                if len(kept):
                    yield kept

    def _sum_up(self, until_ms: int) -> None:
        """Sums up all earlier ten-minute intervals that have looks and no sums yet."""
        ended = range(until_ms - self._fine_seconds * 1000, until_ms, INTERVAL_MS)
        with self._reached(), self._redis.pipeline(transaction=False) as pipeline:
            for interval_ms in ended:
                pipeline.exists(self._coarse(interval_ms))
            has_sums = pipeline.execute()
        for interval_ms, is_summed in zip(ended, has_sums, strict=True):
            if is_summed:
                continue
            with self._reached():
                values: Any = self._redis.hvals(self._fine(interval_ms))
            sums = summed(_unpacked(values, interval_ms))
            if len(sums):
                with self._reached():
                    name, seconds = self._coarse(interval_ms), self._coarse_seconds
                    self._redis.set(name, pack(sums), ex=seconds, nx=True)

    def _fine(self, interval_ms: int) -> str:
        return f"{self._prefix}:fine:{interval_ms}"

    def _coarse(self, interval_ms: int) -> str:
        return f"{self._prefix}:coarse:{interval_ms}"

    def _reached(self) -> AbstractContextManager[None]:
        return reached(self._name, MEANWHILE)


def _intervals(begin_ms: int, end_ms: int) -> Iterable[int]:
    return range(interval_start(begin_ms + 1), end_ms, INTERVAL_MS)


def _unpacked(values: Iterable[bytes], interval_ms: int) -> Iterator[WindowColumns]:
    for value in values:
        try:
            yield unpack(value)
        except (UnknownVersion, BrokenWindows) as error:
            logger.warning("event=traffic-left-out stretch_ms=%d reason=%s", interval_ms, error)
