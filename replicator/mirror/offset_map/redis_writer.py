"""Best-effort writer of a carrier's runs and reports to Redis; it never holds up the carrier."""

import asyncio
import logging
import os
import socket
from collections import deque
from collections.abc import Iterable
from typing import Any

import redis.asyncio
from redis.exceptions import RedisError

from replicator.mirror.offset_map.carrier_reports import reports_index, totals_index
from replicator.mirror.offset_map.offset_store import WholeMark, runs_name
from replicator.mirror.offset_map.packed_map import pack_segment
from replicator.mirror.offset_map.reports import PartitionReport, packed
from replicator.mirror.offset_map.run_segment import RunSegment
from replicator.mirror.offset_map.runs_topic import RunsKey
from replicator.mirror.offset_map.totals import CarrierTotals
from replicator.mirror.offset_map.totals import packed as packed_totals
from replicator.runtime import expiring_values
from replicator.runtime.store_errors import redis_name

logger = logging.getLogger(__name__)

# The sorted set, a packed piece, the losses it is published under.
Pending = tuple[str, bytes, int]

# Held while Redis is unreachable. A piece counts its bytes and the overhead of holding it.
PENDING_BYTES_MAX = 64 * 1024 * 1024
PIECE_OVERHEAD_BYTES = 200
PIECES_PER_WRITE = 1000
RETRY_SECONDS = 1.0
# Totals outlive their carrier, so that every scrape reads its last counts.
TOTALS_EXPIRY_MS = 600_000
TIMEOUT_SECONDS = 2.0
HOST = socket.gethostname()


class RedisWriter:
    """Writer of one carrier's runs and reports to the target region's Redis, in the background.

    append() and report() return at once, whatever Redis does. While Redis is unreachable, what no
    longer fits is dropped, oldest first. The drop is recorded in Redis later, and the map is then
    read back from the runs topic. Append only runs that the runs topic has (after
    RunsPublisher.flush), or there may be nothing to read back from.
    """

    def __init__(
        self,
        url: str,
        route_key: str,
        carrier: int,
        *,
        report_expiry_seconds: float = 30.0,
        pending_bytes_max: int = PENDING_BYTES_MAX,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._url = url
        self._name = redis_name(url)
        self._route_key = route_key
        self._carrier = carrier
        self._expiry_ms = int(report_expiry_seconds * 1000)
        self._pending_bytes_max = pending_bytes_max
        self._pending: deque[Pending] = deque()
        self._pending_bytes = 0
        self._reports: str | None = None
        self._totals: tuple[str, str] | None = None
        # Pieces dropped, and how many of them are recorded in Redis.
        self._missed = self._missed_recorded = 0
        self._retry_seconds = retry_seconds
        self.trouble: str | None = None
        """Reason why Redis does not take writes at present; None when it does."""
        self._stopping = False
        self._wake = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._redis: Any = None

    async def start(self) -> None:
        """Starts writing; Redis need not be reachable."""
        self._redis = redis.asyncio.Redis.from_url(
            self._url,
            socket_timeout=TIMEOUT_SECONDS,
            socket_connect_timeout=TIMEOUT_SECONDS,
        )
        self._writer = asyncio.create_task(self._write_on())

    def append(self, key: RunsKey, segments: Iterable[RunSegment]) -> None:
        """Queues run segments that landed."""
        name = runs_name(self._route_key, key)
        for segment in segments:
            piece = pack_segment(segment)
            self._pending.append((name, piece, key.losses))
            self._pending_bytes += _held_bytes(piece)
        while self._pending_bytes > self._pending_bytes_max:
            _, piece, _ = self._pending.popleft()
            self._pending_bytes -= _held_bytes(piece)
            self._missed += 1
        self._wake.set()

    def report(self, reports: Iterable[PartitionReport]) -> None:
        """Sets the reports of all of this carrier's partitions; they replace the previous ones."""
        self._reports = packed(reports, HOST, os.getpid())
        self._wake.set()

    def count(self, carrier_id: str, totals: CarrierTotals) -> None:
        """Sets the totals of this carrier so far; they are written with the reports."""
        self._totals = carrier_id, packed_totals(totals)
        self._wake.set()

    async def stop(self, drain_seconds: float = 1.0) -> None:
        """Writes what is left and withdraws the reports, for at most drain_seconds; then closes.

        Runs that were not written are a hole once later runs are in Redis. The keeper finds the
        hole and fills it.
        """
        if self._writer is None:
            return
        self._stopping = True
        self._wake.set()
        await asyncio.wait([self._writer], timeout=drain_seconds)
        self._writer.cancel()
        await asyncio.gather(self._writer, return_exceptions=True)
        self._writer = None
        await self._redis.aclose()

    async def _write_on(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while self._has_more:
                    await self._write()
                    self._recovered()
                if self._stopping:
                    reports = reports_index(self._route_key)
                    await expiring_values.withdraw(self._redis, reports, str(self._carrier))
                    return
            except (RedisError, OSError, TimeoutError) as error:
                self._failed(error)
                await asyncio.sleep(self._retry_seconds)
                self._wake.set()

    async def _write(self) -> None:
        """Makes one round trip. Only written items are removed: writing them twice does no harm."""
        count = min(len(self._pending), PIECES_PER_WRITE)
        portion = [self._pending[at] for at in range(count)]
        missed, reports, totals = self._missed, self._reports, self._totals
        async with self._redis.pipeline(transaction=False) as pipeline:
            if missed > self._missed_recorded:
                pipeline.set(WholeMark.name(self._route_key), WholeMark.MISSED)
            for name, piece, losses in portion:
                pipeline.zadd(name, {piece: losses}, gt=True)
            if reports is not None:
                index, carrier = reports_index(self._route_key), str(self._carrier)
                expiring_values.put(pipeline, index, carrier, reports, self._expiry_ms)
            if totals is not None:
                index = totals_index(self._route_key)
                expiring_values.put(pipeline, index, *totals, TOTALS_EXPIRY_MS)
            await pipeline.execute()
        self._missed_recorded = missed
        if self._reports is reports:
            self._reports = None
        if self._totals is totals:
            self._totals = None
        self._forget(portion)

    @property
    def _has_more(self) -> bool:
        unwritten = self._pending or self._reports or self._totals
        return bool(unwritten) or self._missed > self._missed_recorded

    def _forget(self, portion: list[Pending]) -> None:
        for written in portion:
            # append() may have dropped some of them meanwhile.
            if self._pending and self._pending[0] is written:
                self._pending.popleft()
                self._pending_bytes -= _held_bytes(written[1])

    def _failed(self, error: Exception) -> None:
        if self.trouble is None:
            logger.warning(
                "event=runs-not-taken %s does not accept runs and reports of %s (%s); "
                "mirroring continues, and missed runs will be read back from the runs topic",
                self._name,
                self._route_key,
                error,
            )
        self.trouble = str(error) or type(error).__name__

    def _recovered(self) -> None:
        if self.trouble is not None:
            logger.warning(
                "event=runs-taken-again %s accepts runs again",
                self._name,
            )
        self.trouble = None


def _held_bytes(piece: bytes) -> int:
    return len(piece) + PIECE_OVERHEAD_BYTES
