"""Reporting: a loader's live reports, written to the region's Redis in the background."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from aggregator.loader.acquisition import ParkedAt
from aggregator.loader.assignment import LoaderAssignment
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.report_store import ReportStore
from aggregator.loader.reports import LoaderReport, TableReport
from balancer.plan import TopicPartition
from replicator.runtime.run_in_thread import run_in_thread
from replicator.runtime.store_errors import StoreUnreachable

TOO_MANY_PARTS = "held: too many parts"
LONG_SECONDS = 5.0
"""Time after which a partition that waits is worth a log line."""


@dataclass(eq=False)
class Reporting:
    """Reports of one loader.

    Args:
        partitions: of the loader.
        is_held: returns True for a topic and a table into which nothing is inserted, because it
            has too many parts.
        parked: partitions that wait for an operator.
    """

    assignment: LoaderAssignment
    partitions: Mapping[TopicPartition, HeldPartition]
    store: ReportStore
    is_held: Callable[[str, str], bool]
    parked: Mapping[TopicPartition, ParkedAt] = field(default_factory=dict)
    _rows: Counter[TopicPartition] = field(init=False, default_factory=Counter)
    _reported_at: float = field(init=False, default_factory=time.monotonic)
    _began_at: float = field(init=False, default_factory=time.monotonic)
    _writing: asyncio.Future[None] | None = field(init=False, default=None)

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
        self._writing = run_in_thread(self._write, reports)

    def _write(self, reports: list[LoaderReport]) -> None:
        # Reports are for people, who see that these are old.
        with suppress(StoreUnreachable):
            self.store.write(reports)

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
        now_ms, now = time.time_ns() // 1_000_000, time.monotonic()
        tables = {
            name: TableReport("buffering", now_ms - int((now - since) * 1000))
            for name, since in progress.buffering.items()
        }
        for name, block in progress.in_flight.items():
            state = TOO_MANY_PARTS if self.is_held(place.topic, name) else "loading"
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
            at_ms=now_ms,
        )
