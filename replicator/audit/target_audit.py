"""Audit of all partitions of one target: first its ledgers and runs, then both logs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from balancer.topic_partition import TopicPartition
from replicator.audit.claims import Claims, spans_of
from replicator.audit.log_reader import LogReader
from replicator.audit.partition_audit import ComparedOffsets, Depth, PartitionAudit, RoutePart
from replicator.audit.record_counts import RecordCounts
from replicator.audit.route_topics import RouteTopic
from replicator.audit.servers import Servers
from replicator.audit.topic_progress import ProgressReader, TopicProgress, Windows
from replicator.audit.verdict import Row
from replicator.audit.window import Window
from replicator.audit.window_offsets import WindowOffsets
from replicator.batches.batch import BrokenBatch
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.groups.failover.known_runs import KnownRuns
from replicator.groups.failover.ledger_view import LedgerView
from replicator.runtime.gather import gather_or_cancel

AT_ONCE = 4
"""Partitions that are read at the same time: brokers work while this process counts."""


class TargetAudit:
    """Audit of the topics of one target. Runs are read topic by topic: they take 24 bytes each.

    Args:
        own: the requested topics.
        others: other topics that are mirrored into this target.
        windows: the window's offsets, by route and partition.
        logs: by cluster name.
        compared: counts the source offsets of all partitions.
    """

    def __init__(
        self,
        appliance: Appliance,
        target: str,
        own: Sequence[RouteTopic],
        others: Sequence[RouteTopic],
        windows: Windows,
        logs: Mapping[str, LogReader],
        servers: Servers,
        *,
        window: Window,
        depth: Depth,
        timeout_seconds: float,
        compared: ComparedOffsets,
    ) -> None:
        self._appliance = appliance
        self._name = ClusterName.aggregate(target)
        self._redis_name = f"{target} Redis"
        self._reader = ProgressReader(
            self._name, appliance.region(target), windows, timeout_seconds
        )
        self._own = own
        topics = {each.topic for each in own}
        self._all = [*own, *(each for each in others if each.topic in topics)]
        self._windows = windows
        self._logs = logs
        self._servers = servers
        self._window = window
        self._depth = depth
        self._compared = compared
        self._semaphore = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> list[Row]:
        """Returns a row for each partition whose servers have answered."""
        entries = await self._servers.call(self._name, partial(self._reader.entries, self._all))
        if entries is None:
            return []
        rows = []
        for topic in sorted({each.topic for each in self._own}):
            on_routes = [each for each in self._all if each.topic == topic]
            progress = await self._servers.call(
                self._redis_name, partial(self._reader.progress, on_routes, entries)
            )
            if progress is not None:
                rows += await self._topic(topic, progress)
        return rows

    async def _topic(self, topic: str, progress: TopicProgress) -> list[Row]:
        own = [each for each in self._own if each.topic == topic]

        async def of_one(number: int) -> list[Row]:
            async with self._semaphore:
                return await self._partition(TopicPartition(topic, number), own, progress)

        count = max(each.partitions for each in own)
        found = await gather_or_cancel(*(of_one(number) for number in range(count)))
        return [row for rows in found for row in rows]

    async def _partition(
        self, partition: TopicPartition, own: Iterable[RouteTopic], progress: TopicProgress
    ) -> list[Row]:
        route_parts: dict[str, RoutePart] = {}
        by_route: dict[str, RecordCounts] = {}
        notes: dict[str, RecordCounts] = {}
        compacts = False
        for topic in own:
            offsets = self._windows.get((topic.route, partition))
            if offsets is None or partition.partition >= topic.partitions:
                continue
            name, compacts = topic.route.name, compacts or topic.compacts
            view, runs = progress.ledger[topic.route][partition], progress.runs[topic.route]
            notes[name] = _notes(view)
            if doubt := _doubt(topic, partition, view, runs):
                length = _length(offsets)
                by_route[name] = RecordCounts(doubts={doubt: length} if length else {})
                self._compared.add(length)
            else:
                route_parts[name] = self._route_part(topic, partition, view, runs, offsets)
        if route_parts:
            by_route |= await self._read(partition, route_parts, progress, compacts)
        return [
            Row(name, partition.topic, partition.partition, counts + notes[name])
            for name, counts in by_route.items()
        ]

    async def _read(
        self,
        partition: TopicPartition,
        route_parts: Mapping[str, RoutePart],
        progress: TopicProgress,
        compacts: bool,
    ) -> dict[str, RecordCounts]:
        others = [
            Claims.of(each.known[partition].runs)
            for route, each in progress.runs.items()
            if route.name not in route_parts and partition in each.known
        ]
        audit = PartitionAudit(
            partition,
            self._logs[self._name],
            route_parts,
            others,
            window=self._window,
            depth=self._depth,
            target_compacts=compacts,
            compared=self._compared,
        )
        try:
            server = f"{partition.topic}-{partition.partition}"
            return await self._servers.call(server, audit.run) or {}
        except BrokenBatch as broken:
            range_ = f"{broken.first_offset}..{broken.last_offset}"
            why = f"a batch cannot be read: offsets {range_}: {broken.what}"
            return {
                name: RecordCounts(doubts={why: _length(it.offsets)})
                for name, it in route_parts.items()
            }

    def _route_part(
        self,
        topic: RouteTopic,
        partition: TopicPartition,
        view: LedgerView,
        known_runs: KnownRuns,
        offsets: WindowOffsets,
    ) -> RoutePart:
        runs = known_runs.known[partition].runs
        claims = Claims.of(runs)
        began = 0
        if self._appliance.topics.start != "earliest" and runs.trimmed is None and len(claims):
            began = int(claims.sources[0])
        return RoutePart(
            source=self._logs[ClusterName.regional(topic.route.source)],
            offsets=offsets,
            passed=view.passed.source_offset if view.passed else 0,
            claims=claims,
            known=spans_of(*runs.piece().known),
            trimmed=runs.trimmed.source_offset if runs.trimmed else 0,
            began=began,
        )


def _doubt(topic: RouteTopic, partition: TopicPartition, view: LedgerView, runs: KnownRuns) -> str:
    """Returns why nothing can be compared; empty where it can be."""
    if topic.target_topic is None:
        return "the target has no such topic"
    if partition.partition >= topic.mirrored:
        return "the target has no such partition"
    if view.is_void or view.passed is None:
        return view.note or "its ledger says nothing that holds"
    if view.key and view.key.source_topic_id != topic.source_topic:
        return "the source's topic was recreated"
    if runs.notes.get(partition, view.note) != view.note:
        return runs.notes[partition]
    return ""


def _notes(view: LedgerView) -> RecordCounts:
    """Returns counts with the operator's notes alone."""
    notes = [view.note] if view.note else []
    if view.losses:
        notes.append(f"losses were accepted here: {view.losses}")
    return RecordCounts(notes=tuple(notes))


def _length(offsets: WindowOffsets) -> int:
    return offsets.span.end - offsets.span.begin
