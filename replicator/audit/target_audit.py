"""Audit of all partitions of one target: first its ledgers and runs, then both logs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar

from balancer.plan import TopicPartition
from replicator.audit.claims import Claims, spans_of
from replicator.audit.log_reading import LogReading
from replicator.audit.partition_audit import Depth, Feed, PartitionAudit
from replicator.audit.subjects import Subject
from replicator.audit.tally import Tally
from replicator.audit.verdict import Row
from replicator.audit.window import Window
from replicator.audit.window_offsets import WindowOffsets
from replicator.batches.batch import BrokenBatch
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.groups.failover.known_runs import KnownRuns, read_runs
from replicator.groups.failover.ledger_view import LedgerView, ledger_view
from replicator.mirror.ledger.entries import Entries, entries_of
from replicator.runtime.gather import gather_or_cancel

T = TypeVar("T")
AT_ONCE = 4
"""Partitions that are read at the same time: brokers work while this process counts."""
RUNS_TRIES = 4
RUNS_PAUSE_SECONDS = 0.5
"""Pause between readings: runs may reach Redis a moment after the ledger has passed them."""

RouteWindows = Mapping[tuple[Route, TopicPartition], WindowOffsets]


class Tried(Protocol):
    """Asks a server, by the name that people know it by; returns None where it does not answer."""

    def __call__(self, server: str, ask: Callable[[], Awaitable[T]], /) -> Awaitable[T | None]: ...


class TargetAudit:
    """Audit of the topics of one target. Runs are read topic by topic: they take 24 bytes each.

    Args:
        own: the requested topics.
        beside: other topics that are mirrored into this target.
        offsets: the window's offsets, by route and partition.
        logs: by cluster name.
        tried: see Tried.
        progress: called with the number of source offsets that were done.
    """

    def __init__(
        self,
        appliance: Appliance,
        target: str,
        own: Sequence[Subject],
        beside: Sequence[Subject],
        offsets: RouteWindows,
        logs: Mapping[str, LogReading],
        *,
        window: Window,
        depth: Depth,
        timeout_seconds: float,
        tried: Tried,
        progress: Callable[[int], None],
    ) -> None:
        self._appliance = appliance
        self._region = appliance.region(target)
        self._name = ClusterName.aggregate(target)
        self._own = own
        topics = {each.topic for each in own}
        self._all = [*own, *(each for each in beside if each.topic in topics)]
        self._offsets = offsets
        self._logs = logs
        self._window = window
        self._depth = depth
        self._timeout_seconds = timeout_seconds
        self._tried = tried
        self._progress = progress
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> list[Row]:
        """Returns a row for each partition whose servers have answered."""
        entries = await self._tried(self._name, self._entries)
        if entries is None:
            return []
        rows = []
        for topic in sorted({each.topic for each in self._own}):
            words = {
                each.route: self._words(each, entries[each.route])
                for each in self._all
                if each.topic == topic
            }
            told = await self._tried(f"{self._region.name} Redis", partial(self._told, words))
            if told is not None:
                rows += await self._topic(topic, words, told)
        return rows

    # -- ledger and runs

    async def _entries(self) -> dict[Route, Entries]:
        asked: dict[Route, list[TopicPartition]] = {}
        for each in self._all:
            asked.setdefault(each.route, []).extend(each.places)
        settings, seconds = self._region.aggregate, self._timeout_seconds
        return await asyncio.to_thread(entries_of, self._name, settings, asked, seconds)

    def _words(self, subject: Subject, entries: Entries) -> dict[TopicPartition, LedgerView]:
        return {
            place: ledger_view(
                subject.route,
                place,
                entries,
                untouched_up_to=0,
                target_topic=subject.target_topic,
                is_current=True,
            )
            for place in subject.places
        }

    async def _told(
        self, words: Mapping[Route, Mapping[TopicPartition, LedgerView]]
    ) -> dict[Route, KnownRuns]:
        url = self._region.redis_url()
        told: dict[Route, KnownRuns] = {}
        for _ in range(RUNS_TRIES):
            for route, of_one in words.items():
                if route not in told or self._is_short(route, of_one, told[route]):
                    told[route] = await asyncio.to_thread(
                        read_runs, url, route, of_one, self._timeout_seconds
                    )
            if not any(self._is_short(*each, told[each[0]]) for each in words.items()):
                break
            await asyncio.sleep(RUNS_PAUSE_SECONDS)
        return told

    def _is_short(
        self, route: Route, words: Mapping[TopicPartition, LedgerView], told: KnownRuns
    ) -> bool:
        """Returns True if runs do not reach as far as both the ledger and the window do."""
        for place, each in words.items():
            offsets, known = self._offsets.get((route, place)), told.known.get(place)
            if offsets and known and each.passed:
                upto = min(offsets.span.end, each.passed.source_offset)
                if offsets.span.begin < upto and known.runs.source_end < upto:
                    return True
        return False

    # -- logs

    async def _topic(
        self,
        topic: str,
        words: Mapping[Route, Mapping[TopicPartition, LedgerView]],
        told: Mapping[Route, KnownRuns],
    ) -> list[Row]:
        own = [each for each in self._own if each.topic == topic]
        partitions = max(each.partitions for each in own)

        async def of_one(number: int) -> list[Row]:
            place = TopicPartition(topic, number)
            async with self._turn:
                return await self._partition(place, own, words, told)

        found = await gather_or_cancel(*(of_one(number) for number in range(partitions)))
        return [row for rows in found for row in rows]

    async def _partition(
        self,
        place: TopicPartition,
        own: Iterable[Subject],
        words: Mapping[Route, Mapping[TopicPartition, LedgerView]],
        told: Mapping[Route, KnownRuns],
    ) -> list[Row]:
        feeds: dict[str, Feed] = {}
        counted: dict[str, Tally] = {}
        said: dict[str, Tally] = {}
        compacts = False
        for subject in own:
            offsets = self._offsets.get((subject.route, place))
            if offsets is None or place.partition >= subject.partitions:
                continue
            name, compacts = subject.route.name, compacts or subject.compacts
            each = words[subject.route][place]
            said[name] = _said(each)
            doubt = _doubt(subject, place, each, told[subject.route])
            if doubt:
                length = _length(offsets)
                counted[name] = Tally(doubts={doubt: length} if length else {})
                self._progress(length)
            else:
                feeds[name] = self._feed(subject, place, each, told[subject.route], offsets)
        if feeds:
            counted |= await self._read(place, feeds, told, compacts)
        return [
            Row(name, place.topic, place.partition, it + said[name]) for name, it in counted.items()
        ]

    async def _read(
        self,
        place: TopicPartition,
        feeds: Mapping[str, Feed],
        told: Mapping[Route, KnownRuns],
        compacts: bool,
    ) -> dict[str, Tally]:
        others = [
            Claims.of(each.known[place].runs)
            for route, each in told.items()
            if route.name not in feeds and place in each.known
        ]
        audit = PartitionAudit(
            place,
            self._logs[self._name],
            feeds,
            others,
            window=self._window,
            depth=self._depth,
            target_compacts=compacts,
            progress=self._progress,
        )
        try:
            found = await self._tried(f"{place.topic}-{place.partition}", audit.run)
            return found or {}
        except BrokenBatch as broken:
            range_ = f"{broken.first_offset}..{broken.last_offset}"
            why = f"a batch cannot be read: offsets {range_}: {broken.what}"
            return {name: Tally(doubts={why: _length(it.offsets)}) for name, it in feeds.items()}

    def _feed(
        self,
        subject: Subject,
        place: TopicPartition,
        each: LedgerView,
        told: KnownRuns,
        offsets: WindowOffsets,
    ) -> Feed:
        runs = told.known[place].runs
        claims, piece = Claims.of(runs), runs.piece()
        began = 0
        if self._appliance.topics.start != "earliest" and runs.trimmed is None and len(claims):
            began = int(claims.sources[0])
        return Feed(
            source=self._logs[ClusterName.regional(subject.route.source)],
            offsets=offsets,
            passed=each.passed.source_offset if each.passed else 0,
            claims=claims,
            known=spans_of(*piece.known),
            trimmed=runs.trimmed.source_offset if runs.trimmed else 0,
            began=began,
        )


def _doubt(subject: Subject, place: TopicPartition, each: LedgerView, told: KnownRuns) -> str:
    """Returns why nothing can be compared; empty where it can be."""
    if subject.target_topic is None:
        return "the target has no such topic"
    if place.partition >= subject.mirrored:
        return "the target has no such partition"
    if each.is_void or each.passed is None:
        return each.note or "its ledger says nothing that holds"
    if each.key and each.key.source_topic_id != subject.source_topic:
        return "the source's topic was made anew"
    if told.notes.get(place, each.note) != each.note:
        return told.notes[place]
    return ""


def _said(each: LedgerView) -> Tally:
    notes = [each.note] if each.note else []
    if each.losses:
        notes.append(f"losses were accepted here: {each.losses}")
    return Tally(notes=tuple(notes))


def _length(offsets: WindowOffsets) -> int:
    return offsets.span.end - offsets.span.begin
