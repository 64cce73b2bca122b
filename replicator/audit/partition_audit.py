"""Audit of one target partition for all requested routes: read once, tallied for each route."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from balancer.topic_partition import TopicPartition
from replicator.audit.claims import Claims, Piece, pieces, size
from replicator.audit.log_content import Fingerprints, LogContent
from replicator.audit.log_reader import LogReader
from replicator.audit.record_counts import (
    GONE,
    UNORDERED,
    PriorKnowledge,
    RecordCounts,
    compare_records,
)
from replicator.audit.window import Window
from replicator.audit.window_offsets import WindowOffsets
from replicator.mirror.offset_map.spans import Span, Spans
from replicator.runtime.gather import gather_or_cancel

PIECE_OFFSETS = 1 << 19
"""Target offsets that are held at once: 24 bytes for each record of either end, 25 MB."""
NEAR_OFFSETS = 2000
"""Unclaimed offsets that are no further apart than this are read at once."""


class Depth(StrEnum):
    """Depth of reading of both logs, from cheap to thorough."""

    OFFSETS = "offsets"
    """Starts and ends of logs; records only where runs do not claim them."""
    COUNT = "count"
    """Header of every batch."""
    BYTES = "bytes"
    """Every record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutePart:
    """Part of one route in a target partition.

    Args:
        offsets: source offsets of the window.
        passed: everything before this source offset is in the target, according to the ledger.
        claims: of all source offsets, not of the window alone.
        known, trimmed, began: see PriorKnowledge.
    """

    source: LogReader
    offsets: WindowOffsets
    passed: int
    claims: Claims
    known: Spans
    trimmed: int = 0
    began: int = 0

    @property
    def mirrored(self) -> Span:
        """Source offsets of the window that must be in the target."""
        begin, end = self.offsets.span
        return Span(begin, max(begin, min(end, self.passed)))

    @property
    def behind(self) -> Span:
        return Span(self.mirrored.end, self.offsets.span.end)


@dataclass(slots=True)
class ComparedOffsets:
    """Number of source offsets that an audit has compared so far.

    Args:
        show: called with that number, and the total.
    """

    show: Callable[[int, int], None]
    total: int = 0
    done: int = 0

    def add(self, offsets: int) -> None:
        self.done += offsets
        self.show(self.done, self.total)


class PartitionAudit:
    """Audit of one target partition.

    Args:
        others: claims of routes that are not audited; their records are not foreign.
        target_compacts: True if the target's cleaner may remove records.
        compared: counts the source offsets of the partition.
    """

    def __init__(
        self,
        partition: TopicPartition,
        target: LogReader,
        route_parts: Mapping[str, RoutePart],
        others: list[Claims],
        *,
        window: Window,
        depth: Depth,
        target_compacts: bool,
        compared: ComparedOffsets,
    ) -> None:
        self._partition = partition
        self._target = target
        self._route_parts = route_parts
        self._others = others
        self._window = window
        self._depth = depth
        self._target_compacts = target_compacts
        self._compared = compared

    async def run(self) -> dict[str, RecordCounts]:
        """Returns the counts by route. Raises Unreachable, Answered or BrokenBatch."""
        wanted = {route: part.mirrored for route, part in self._route_parts.items()}
        claims = {
            route: part.claims.between(*wanted[route]) for route, part in self._route_parts.items()
        }
        found = {route: await self._around(part) for route, part in self._route_parts.items()}
        for piece in pieces(wanted, claims, PIECE_OFFSETS):
            for route, more in (await self._piece(piece)).items():
                found[route] += more
        return found

    # -- offsets that the ledger has passed

    async def _piece(self, piece: Piece) -> dict[str, RecordCounts]:
        target, *sources = await gather_or_cancel(
            self._read_target(piece),
            *(self._read_source(route, span) for route, span in piece.sources.items()),
        )
        # Read last: records that retention deleted during the reading are not missing.
        log = Span(
            await self._target.start(*self._partition),
            await self._target.end(*self._partition, is_stable=False),
        )
        foreign_offsets, foreign = self._foreign(piece.target, target)
        by_route = {}
        for (route, span), source in zip(piece.sources.items(), sources, strict=True):
            part = self._route_parts[route]
            prior = PriorKnowledge(
                claims=part.claims,
                known=part.known,
                trimmed=part.trimmed,
                began=part.began,
                target_log=log,
                target_compacts=self._target_compacts,
            )
            by_route[route] = compare_records(prior, span, source, target, foreign) + RecordCounts(
                foreign=foreign_offsets
            )
            self._compared.add(span.end - span.begin)
        return by_route

    async def _read_target(self, piece: Piece) -> LogContent:
        span = piece.target
        claimed = (
            self._route_parts[route].claims.between(*own) for route, own in piece.sources.items()
        )
        if not any(len(each.landing(*span)) for each in claimed):
            return LogContent()
        if self._depth is Depth.OFFSETS:
            start = await self._target.start(*self._partition)
            end = await self._target.end(*self._partition, is_stable=False)
            return LogContent(Spans(Span(max(start, span.begin), min(end, span.end))))
        # Read uncommitted: an open transaction of another producer is not waited for.
        return await self._target.read(
            *self._partition, span, committed=False, with_fingerprints=self._depth is Depth.BYTES
        )

    async def _read_source(self, route: str, span: Span) -> LogContent:
        part = self._route_parts[route]
        if self._depth is not Depth.OFFSETS:
            return await self._read(part, span, with_fingerprints=self._depth is Depth.BYTES)
        start = await part.source.start(*self._partition)
        claimed = part.claims.between(max(span.begin, start), span.end).source_spans()
        records, invisible = Spans(), Spans()
        for each in _near(Spans(span).without(claimed)):
            found = await self._read(part, each, with_fingerprints=False)
            for whole, read in ((records, found.records), (invisible, found.invisible)):
                whole.add_all(*read.columns())
        records.add_all(*claimed.without(invisible).columns())
        return LogContent(records, invisible)

    async def _read(self, part: RoutePart, span: Span, *, with_fingerprints: bool) -> LogContent:
        return await part.source.read(
            *self._partition, span, committed=True, with_fingerprints=with_fingerprints
        )

    def _foreign(self, span: Span, target: LogContent) -> tuple[int, Fingerprints]:
        """Returns the number of target records that no route claims, and their fingerprints."""
        claimed = [*(part.claims for part in self._route_parts.values()), *self._others]
        left, fingerprints = target.records, target.fingerprints
        for each in (claims.landing(*span) for claims in claimed):
            left = left.without(each.target_spans())
            fingerprints = fingerprints.where(each.sources_at(fingerprints.offset) < 0)
        return size(left), fingerprints

    # -- offsets around them

    async def _around(self, part: RoutePart) -> RecordCounts:
        """Tallies offsets behind the ledger's position, and records that the source deleted."""
        begin, end = part.behind
        behind = end - begin
        if behind and self._depth is not Depth.OFFSETS:
            behind = size((await self._read(part, part.behind, with_fingerprints=False)).records)
        self._compared.add(end - begin)
        offsets = part.offsets
        doubts = {}
        if offsets.unordered:
            doubts[UNORDERED] = offsets.unordered
        if offsets.log_start is not None and (gone := await self._gone(part, offsets.log_start)):
            doubts[GONE] = gone
        return RecordCounts(
            source_records=behind,
            behind=behind,
            held_back=offsets.held_back,
            doubts=doubts,
            notes=(offsets.note,) if offsets.note else (),
        )

    async def _gone(self, part: RoutePart, log_start: int) -> int:
        """Counts records that landed, are deleted at the source, and may belong to the window."""
        first = await self._target.at(*self._partition, self._window.since_ms)
        if first is None:
            return 0
        deleted = part.claims.between(0, log_start)
        return deleted.landing(first.offset, int(np.iinfo(np.int64).max)).records


def _near(spans: Spans) -> list[Span]:
    """Returns the same offsets in few spans, joined with those between near ones."""
    found: list[Span] = []
    for span in spans:
        if found and span.begin - found[-1].end <= NEAR_OFFSETS:
            found[-1] = Span(found[-1].begin, span.end)
        else:
            found.append(span)
    return found
