"""Reporting: a loader's live reports, written to the region's Redis in the background."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from aggregator.loader.acquisition import ParkedAt
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.loader_assignment import LoaderAssignment
from aggregator.loader.loader_counts import LoaderCounts, LoaderTotals
from aggregator.loader.report_store import ReportStore
from aggregator.loader.reports import (
    BUFFERING,
    LOADING,
    TOO_MANY_PARTS,
    LoaderReport,
    TableReport,
)
from aggregator.loader.sink import Sink
from aggregator.loader.window_watch import WindowWatch
from balancer.topic_partition import TopicPartition
from replicator.runtime.clock import monotonic
from replicator.runtime.run_in_thread import run_in_thread
from replicator.runtime.store_errors import StoreUnreachable

LONG_SECONDS = 5.0
"""Time after which a partition that waits is worth a log line."""
FINISH_SECONDS = 1.0
"""Longest wait for the last totals to be written."""


@dataclass(eq=False)
class Reporting:
    """Reports and totals of one loader.

    Args:
        partitions: of the loader.
        parked: partitions that wait for an operator.
        sink: has the tables, and the clock of buffers' ages.
    """

    assignment: LoaderAssignment
    partitions: Mapping[TopicPartition, HeldPartition]
    store: ReportStore
    sink: Sink
    loader_counts: LoaderCounts
    parked: Mapping[TopicPartition, ParkedAt] = field(default_factory=dict)
    _rows: Counter[TopicPartition] = field(init=False, default_factory=Counter)
    _reported_at: float = field(init=False, default_factory=monotonic)
    _began_at: float = field(init=False, default_factory=monotonic)
    _writing: asyncio.Future[None] | None = field(init=False, default=None)
    _windows: WindowWatch = field(init=False)

    def __post_init__(self) -> None:
        self._windows = WindowWatch(self.sink.tables, self.loader_counts)

    def is_long(self, partition: TopicPartition) -> bool:
        """Returns True once a partition that was never held has waited for long."""
        is_over = time.monotonic() - self._began_at > LONG_SECONDS
        return is_over and partition not in self.partitions

    async def report(self) -> None:
        """Writes reports unless the last ones are still being written: Redis may be away."""
        if self._writing is not None and not self._writing.done():
            return
        now = time.monotonic()
        seconds, self._reported_at = now - self._reported_at, now
        reports = [self._report(each, seconds) for each in self.partitions.values()]
        reports += [
            self._report_parked(place, each.reason, each.offset)
            for place, each in self.parked.items()
            if each.offset is not None
        ]
        self._writing = run_in_thread(self._write, reports, self._totals())

    async def finish(self) -> None:
        """Writes the last totals of the epoch, unless Redis is slow or away."""
        # Any error: metrics never fail a loader whose partitions are released.
        with suppress(Exception):
            async with asyncio.timeout(FINISH_SECONDS):
                if self._writing is not None:
                    await self._writing
                await run_in_thread(self._write, [], self._totals())

    def _totals(self) -> LoaderTotals:
        return self.loader_counts.totals(self.assignment.feed.name, self.assignment.cluster)

    def _write(self, reports: list[LoaderReport], totals: LoaderTotals) -> None:
        # Reports are for people, who see that these are old.
        with suppress(StoreUnreachable):
            self.store.write(reports)
            self.store.write_totals(self.loader_counts.id, totals)

    def _report_parked(self, place: TopicPartition, reason: str, offset: int) -> LoaderReport:
        return LoaderReport(
            feed=self.assignment.feed.name,
            loader=self.assignment.number,
            cluster=self.assignment.cluster,
            topic=place.topic,
            partition=place.partition,
            mode="parked",
            position=offset,
            offset=offset,
            buffered_bytes=0,
            parked=reason,
            at_ms=time.time_ns() // 1_000_000,
        )

    def _report(self, partition: HeldPartition, seconds: float) -> LoaderReport:
        place, progress = partition.partition, partition.progress
        rows = partition.rows - self._rows[place]
        self._rows[place] = partition.rows
        now_ms, now = time.time_ns() // 1_000_000, self.sink.now()
        since_ms = {
            name: now_ms - int((now - since) * 1000) for name, since in progress.buffering.items()
        }
        is_of_objects = self.assignment.feed.kind == "s3"
        # Open objects may be thousands: of them their number and the oldest are reported.
        tables = {
            name: TableReport(BUFFERING, each)
            for name, each in ({} if is_of_objects else since_ms).items()
        }
        for name, block in progress.in_flight.items():
            state = TOO_MANY_PARTS if self.sink.tables.is_held(place.topic, name) else LOADING
            tables[name] = TableReport(state, block.sealed_at_ms or now_ms)
        return LoaderReport(
            feed=self.assignment.feed.name,
            loader=self.assignment.number,
            cluster=self.assignment.cluster,
            topic=place.topic,
            partition=place.partition,
            mode=progress.mode.value,
            position=progress.position,
            offset=progress.offset,
            buffered_bytes=partition.buffered_bytes,
            tables=tables,
            rows_per_second=rows / seconds if seconds > 0 else None,
            lag_seconds=partition.lag_seconds,
            dead_letters=partition.intent.dead_letters,
            committed=partition.intent.offset,
            source_end=partition.source_end,
            window_used=self._windows.used(place, progress.in_flight, now_ms),
            losses=partition.intent.losses,
            is_frozen=partition.is_frozen,
            open_objects=len(since_ms) if is_of_objects else None,
            open_since_ms=min(since_ms.values(), default=None) if is_of_objects else None,
            at_ms=now_ms,
        )
