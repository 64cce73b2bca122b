"""Audit of some routes: from the requests to the servers to a row for each partition.

The order of the requests prevents that late records look missing: the window's source offsets come
first, then the ledger, then the runs, then the logs.

The records come from the logs of both ends. Runs are trusted only for the source record of each
target record. A wrong run is found as well, because fingerprints differ.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from balancer.topic_partition import TopicPartition
from replicator.audit.log_reader import LogReader
from replicator.audit.partition_audit import ComparedOffsets, Depth
from replicator.audit.route_topics import RouteTopic, TargetTopics, chosen, target_topics
from replicator.audit.servers import Servers
from replicator.audit.target_audit import TargetAudit
from replicator.audit.topic_progress import Windows
from replicator.audit.verdict import Row
from replicator.audit.window import Window
from replicator.audit.window_offsets import WindowOffsets, window_offsets
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, KafkaCluster, Route
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.admin.topic import Topic
from replicator.kafka.client.cluster import Cluster
from replicator.runtime.gather import gather_or_cancel

THREADS = 16
REQUESTS_AT_ONCE = 32

Progress = Callable[[int, int], None]
"""Callback with the number of source offsets that are done, and their total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """Request for an audit.

    Args:
        topics: names of topics; empty: all that are mirrored.
        now_ms: the time that the window was made for.
    """

    routes: tuple[Route, ...]
    topics: frozenset[str]
    window: Window
    depth: Depth
    now_ms: int


@dataclass(frozen=True, slots=True)
class AuditResult:
    """Rows of the partitions that were reached, and the reasons why others were not."""

    rows: tuple[Row, ...]
    problems: tuple[str, ...] = ()


class Audit:
    """Comparison of both ends, once. Blocking; not to be called on an event loop."""

    def __init__(
        self,
        appliance: Appliance,
        request: AuditRequest,
        timeout_seconds: float,
        progress: Progress,
    ) -> None:
        self._appliance = appliance
        self._request = request
        self._timeout_seconds = timeout_seconds
        self._compared = ComparedOffsets(progress)
        self._servers = Servers()
        self._logs: dict[str, LogReader] = {}

    def run(self) -> AuditResult:
        """Compares both ends.

        A server that is away becomes a problem, and its routes have no rows. Raises NotMirrored.
        """
        request = self._request
        every = self._described()
        is_all_known = not self._servers.problems
        own = chosen(every, request.routes, request.topics, is_all_known=is_all_known)
        others = [each for some in every for each in some.found if each not in own]
        rows = asyncio.run(self._audit(own, others))
        rows.sort(key=lambda row: (row.route, row.topic, row.partition or 0))
        return AuditResult(tuple(rows), self._servers.problems)

    # -- topics

    def _described(self) -> list[TargetTopics]:
        """Returns, by target, the topics of all routes into it.

        All of these routes may have records in the same partitions.
        """
        targets = sorted({route.target for route in self._request.routes})
        routes_into = {target: self._appliance.routes_into(target) for target in targets}
        sources = {
            ClusterName.regional(route.source)
            for routes in routes_into.values()
            for route in routes
        }
        names = sorted(sources | {ClusterName.aggregate(target) for target in targets})
        with ThreadPoolExecutor(THREADS) as threads:
            topics = dict(zip(names, threads.map(self._topics, names), strict=True))
        found = []
        for target, routes in routes_into.items():
            of_target = topics[ClusterName.aggregate(target)]
            if of_target is not None:
                of_sources = {route: topics[ClusterName.regional(route.source)] for route in routes}
                found.append(target_topics(of_sources, of_target, self._appliance.topics))
        return found

    def _topics(self, cluster: str) -> list[Topic] | None:
        try:
            return Admin(cluster, self._settings(cluster), self._timeout_seconds).topics()
        except AdminError as error:
            self._servers.give_up(cluster, error)
            return None

    def _settings(self, cluster: str) -> KafkaCluster:
        region, role = cluster.split(" ")
        settings: KafkaCluster = getattr(self._appliance.region(region), role)
        return settings

    # -- comparison

    async def _audit(self, own: Sequence[RouteTopic], others: Sequence[RouteTopic]) -> list[Row]:
        topics = {each.topic for each in own}
        clusters = {ClusterName.regional(each.route.source) for each in own}
        clusters |= {ClusterName.aggregate(each.route.target) for each in own}
        try:
            await gather_or_cancel(*(self._open(name, topics) for name in clusters))
            windows = await self._windows(own)
            self._compared.total = sum(it.span.end - it.span.begin for it in windows.values())
            self._compared.add(0)
            rows = []
            for target in sorted({each.route.target for each in own}):
                if ClusterName.aggregate(target) in self._logs:
                    rows += await self._target_audit(target, own, others, windows).run()
            return rows
        finally:
            for log in self._logs.values():
                await log.close()

    def _target_audit(
        self,
        target: str,
        own: Sequence[RouteTopic],
        others: Sequence[RouteTopic],
        windows: Windows,
    ) -> TargetAudit:
        return TargetAudit(
            self._appliance,
            target,
            [each for each in own if each.route.target == target],
            [each for each in others if each.route.target == target],
            windows,
            self._logs,
            self._servers,
            window=self._request.window,
            depth=self._request.depth,
            timeout_seconds=self._timeout_seconds,
            compared=self._compared,
        )

    async def _open(self, name: str, topics: Collection[str]) -> None:
        cluster = Cluster(name, self._settings(name), client_id="sluice-audit")

        async def opened() -> LogReader:
            log = LogReader(cluster, self._timeout_seconds)
            await log.open(topics)
            return log

        log = await self._servers.call(name, opened)
        if log is not None:
            self._logs[name] = log

    async def _windows(self, own: Sequence[RouteTopic]) -> Windows:
        semaphore = asyncio.Semaphore(REQUESTS_AT_ONCE)
        wanted = [(each.route, partition) for each in own for partition in each.topic_partitions]

        async def offsets(source: str, partition: TopicPartition) -> WindowOffsets | None:
            async with semaphore:
                if source not in self._logs:
                    return None
                request = partial(self._offsets, self._logs[source], partition)
                return await self._servers.call(source, request)

        answers = await gather_or_cancel(
            *(offsets(ClusterName.regional(route.source), partition) for route, partition in wanted)
        )
        return {each: it for each, it in zip(wanted, answers, strict=True) if it is not None}

    async def _offsets(self, log: LogReader, partition: TopicPartition) -> WindowOffsets:
        window = self._request.window
        return window_offsets(
            await log.at(*partition, window.since_ms),
            await log.at(*partition, window.until_ms),
            log_start=await log.start(*partition),
            # The ends are read last, so that all offsets found before lie below them.
            stable_end=await log.end(*partition, is_stable=True),
            log_end=await log.end(*partition, is_stable=False),
            now_ms=self._request.now_ms,
        )
