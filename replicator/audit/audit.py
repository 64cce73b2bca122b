"""Audit of some routes, from the questions to the servers to a row for each partition.

Questions come in an order in which late records do not look missing: the window's source offsets,
then the ledger, then the runs, then the logs.

Sources and targets are asked themselves what they hold. Runs are trusted only for which source
record a target record is. A wrong run is found as well, because fingerprints differ.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from balancer.plan import TopicPartition
from replicator.audit.log_reading import LogReading
from replicator.audit.partition_audit import Depth
from replicator.audit.subjects import Subject, Subjects, chosen, subjects
from replicator.audit.target_audit import TargetAudit
from replicator.audit.verdict import Row
from replicator.audit.window import Window
from replicator.audit.window_offsets import WindowOffsets, window_offsets
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.admin.topic import Topic
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from replicator.runtime.gather import gather_or_cancel
from replicator.runtime.store_errors import StoreUnreachable

T = TypeVar("T")
THREADS = 16
QUESTIONS_AT_ONCE = 32

Progress = Callable[[int, int], None]
"""Callback with the number of source offsets that are done, and their total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Request for an audit.

    Args:
        topics: none named: all that are mirrored.
        now_ms: the time that the window was made for.
    """

    routes: tuple[Route, ...]
    topics: frozenset[str]
    window: Window
    depth: Depth
    now_ms: int


@dataclass(frozen=True, slots=True)
class Audited:
    """Rows of the partitions that were reached, and the reasons why others were not."""

    rows: tuple[Row, ...]
    problems: tuple[str, ...] = ()


class Audit:
    """Comparison of both ends, once. Blocking; not to be called on an event loop."""

    def __init__(
        self, appliance: Appliance, asked: Asked, timeout_seconds: float, progress: Progress
    ) -> None:
        self._appliance = appliance
        self._asked = asked
        self._timeout_seconds = timeout_seconds
        self._progress = progress
        self._done = self._whole = 0
        self._problems: dict[str, str] = {}
        self._logs: dict[str, LogReading] = {}

    def run(self) -> Audited:
        """Compares both ends.

        A server that is away becomes a problem, and its routes have no rows. Raises NotMirrored.
        """
        every = self._described()
        asked = self._asked
        found = chosen(every, asked.routes, asked.topics, is_all_known=not self._problems)
        beside = [each for some in every for each in some.found if each not in found]
        rows = asyncio.run(self._audit(found, beside))
        rows.sort(key=lambda row: (row.route, row.topic, row.partition or 0))
        # Many partitions report the same server when it goes away later.
        return Audited(tuple(rows), tuple(dict.fromkeys(self._problems.values())))

    # -- topics

    def _described(self) -> list[Subjects]:
        """Returns, by target, the topics of all routes into it.

        All of these routes may have records in the same partitions.
        """
        targets = sorted({route.target for route in self._asked.routes})
        feeding = {target: self._appliance.routes_into(target) for target in targets}
        clusters = {
            ClusterName.regional(route.source) for routes in feeding.values() for route in routes
        }
        names = sorted(clusters | {ClusterName.aggregate(target) for target in targets})
        with ThreadPoolExecutor(THREADS) as threads:
            topics = dict(zip(names, threads.map(self._topics, names), strict=True))
        found = []
        for target, routes in feeding.items():
            there = topics[ClusterName.aggregate(target)]
            if there is not None:
                sources = {route: topics[ClusterName.regional(route.source)] for route in routes}
                found.append(subjects(sources, there, self._appliance.topics))
        return found

    def _topics(self, cluster: ClusterName) -> list[Topic] | None:
        settings = self._appliance.cluster(cluster)
        try:
            return Admin(cluster, settings, self._timeout_seconds).topics()
        except AdminError as error:
            self._problems[cluster] = str(error)
            return None

    # -- comparison

    async def _audit(self, found: Sequence[Subject], beside: Sequence[Subject]) -> list[Row]:
        topics = {each.topic for each in found}
        clusters = {ClusterName.regional(each.route.source) for each in found}
        clusters |= {ClusterName.aggregate(each.route.target) for each in found}
        try:
            await gather_or_cancel(*(self._open(name, topics) for name in clusters))
            offsets = await self._window_offsets(found)
            self._whole = sum(each.span.end - each.span.begin for each in offsets.values())
            self._progress(0, self._whole)
            rows = []
            for target in sorted({each.route.target for each in found}):
                if ClusterName.aggregate(target) in self._logs:
                    audit = TargetAudit(
                        self._appliance,
                        target,
                        [each for each in found if each.route.target == target],
                        [each for each in beside if each.route.target == target],
                        offsets,
                        self._logs,
                        window=self._asked.window,
                        depth=self._asked.depth,
                        timeout_seconds=self._timeout_seconds,
                        tried=self._tried,
                        progress=self._step,
                    )
                    rows += await audit.run()
            return rows
        finally:
            for log in self._logs.values():
                await log.close()

    async def _open(self, cluster: ClusterName, topics: Collection[str]) -> None:
        settings = self._appliance.cluster(cluster)

        async def opened() -> LogReading:
            log = LogReading(cluster, settings, self._timeout_seconds)
            await log.open(topics)
            return log

        log = await self._tried(cluster, opened)
        if log is not None:
            self._logs[cluster] = log

    async def _window_offsets(
        self, found: Sequence[Subject]
    ) -> dict[tuple[Route, TopicPartition], WindowOffsets]:
        turn = asyncio.Semaphore(QUESTIONS_AT_ONCE)
        asked = [(each.route, place) for each in found for place in each.places]

        async def ask(source: ClusterName, place: TopicPartition) -> WindowOffsets | None:
            async with turn:
                if source not in self._logs:
                    return None
                return await self._tried(source, lambda: self._offsets(self._logs[source], place))

        answers = await gather_or_cancel(
            *(ask(ClusterName.regional(route.source), place) for route, place in asked)
        )
        return {each: it for each, it in zip(asked, answers, strict=True) if it is not None}

    async def _offsets(self, log: LogReading, place: TopicPartition) -> WindowOffsets:
        window = self._asked.window
        return window_offsets(
            await log.at(*place, window.since_ms),
            await log.at(*place, window.until_ms),
            log_start=await log.start(*place),
            # The ends are read last, so that all offsets found before lie below them.
            stable_end=await log.end(*place, is_stable=True),
            log_end=await log.end(*place, is_stable=False),
            now_ms=self._asked.now_ms,
        )

    async def _tried(self, server: str, ask: Callable[[], Awaitable[T]]) -> T | None:
        """Asks a server; returns None where it does not answer, and then asks it no more."""
        if server in self._problems:
            return None
        try:
            return await ask()
        except (AdminError, Answered, StoreUnreachable, Unreachable) as error:
            self._problems.setdefault(server, str(error))
            return None

    def _step(self, offsets: int) -> None:
        self._done += offsets
        self._progress(self._done, self._whole)
