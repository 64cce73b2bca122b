"""Progress of routes on a topic: ledger entries and runs of its partitions in one target."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from balancer.topic_partition import TopicPartition
from replicator.audit.route_topics import RouteTopic
from replicator.audit.window_offsets import WindowOffsets
from replicator.config.topology import Region, Route
from replicator.groups.failover.known_runs import KnownRuns, read_runs
from replicator.groups.failover.ledger_view import LedgerView, ledger_view
from replicator.mirror.ledger.ledger_reader import Entries, entries_of

RUNS_TRIES = 4
RUNS_PAUSE_SECONDS = 0.5
"""Pause between readings: runs may reach Redis a moment after the ledger has passed them."""

LedgerViews = Mapping[TopicPartition, LedgerView]
Windows = Mapping[tuple[Route, TopicPartition], WindowOffsets]
"""Source offsets of the audited window, by route and partition."""


@dataclass(frozen=True, slots=True)
class TopicProgress:
    """Progress of each route that has records in a topic."""

    ledger: Mapping[Route, LedgerViews]
    runs: Mapping[Route, KnownRuns]


class ProgressReader:
    """Reader of one target's ledgers and runs.

    Args:
        name: of the target's aggregate.
        windows: the part of the runs that is waited for.
        timeout_seconds: for each answer.
    """

    def __init__(self, name: str, region: Region, windows: Windows, timeout_seconds: float) -> None:
        self._name, self._region, self._windows = name, region, windows
        self._timeout_seconds = timeout_seconds

    async def entries(self, topics: Iterable[RouteTopic]) -> dict[Route, Entries]:
        """Returns the ledger entries of these topics. Raises Unreachable or Answered."""
        wanted: dict[Route, list[TopicPartition]] = {}
        for each in topics:
            wanted.setdefault(each.route, []).extend(each.topic_partitions)
        settings, seconds = self._region.aggregate, self._timeout_seconds
        return await asyncio.to_thread(entries_of, self._name, settings, wanted, seconds)

    async def progress(
        self, topics: Iterable[RouteTopic], entries: Mapping[Route, Entries]
    ) -> TopicProgress:
        """Returns the progress on one topic. Raises StoreUnreachable.

        Args:
            topics: the topic on each of its routes.
        """
        ledger = {each.route: _ledger_views(each, entries[each.route]) for each in topics}
        runs: dict[Route, KnownRuns] = {}
        for _ in range(RUNS_TRIES):
            for route, views in ledger.items():
                if route not in runs or self._is_short(route, views, runs[route]):
                    runs[route] = await asyncio.to_thread(
                        read_runs,
                        self._region.redis_url(),
                        route,
                        views,
                        views,
                        self._timeout_seconds,
                    )
            if not any(
                self._is_short(route, views, runs[route]) for route, views in ledger.items()
            ):
                break
            await asyncio.sleep(RUNS_PAUSE_SECONDS)
        return TopicProgress(ledger, runs)

    def _is_short(self, route: Route, views: LedgerViews, runs: KnownRuns) -> bool:
        """Returns True if runs do not reach as far as both the ledger and the window do."""
        for partition, view in views.items():
            offsets, known = self._windows.get((route, partition)), runs.known.get(partition)
            if offsets and known and view.passed:
                end = min(offsets.span.end, view.passed.source_offset)
                if offsets.span.begin < end and known.runs.source_end < end:
                    return True
        return False


def _ledger_views(topic: RouteTopic, entries: Entries) -> dict[TopicPartition, LedgerView]:
    return {
        partition: ledger_view(
            topic.route,
            partition,
            entries,
            untouched_up_to=0,
            target_topic=topic.target_topic,
            is_current=True,
        )
        for partition in topic.topic_partitions
    }
