"""End of a route's runs topic: positions in it, and the last runs published since a position."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from uuid import UUID

import numpy as np
import numpy.typing as npt

from replicator.batches import varints
from replicator.batches.batch import layout
from replicator.batches.records import opened
from replicator.config.names import runs_topic_name
from replicator.kafka.client.cluster import Cluster
from replicator.mirror.offset_map.packed_map import VERSION, BrokenPiece, UnknownVersion, unpack
from replicator.mirror.offset_map.runs_topic import RunsKey, decode_key
from replicator.runtime.gather import gather_or_cancel

READ_BYTES = 256 << 10
"""Bytes per read, some 2400 messages: decoding blocks the loop for a few hundredths of a second."""

FORMAT = bytes([VERSION])

Positions = tuple[int, ...]
"""Offset of each partition of the runs topic; empty: not known."""


@dataclass(frozen=True, slots=True)
class LastRun:
    """Last published record of a partition.

    Args:
        source_end, target_end: offsets behind it, in the source and in the target.
        left_out: source offsets right behind it of which none had a record to carry.
    """

    source_end: int
    target_end: int
    left_out: int = 0


class RunsTail:
    """Reads the runs topic of one route, as far as it is asked to.

    Args:
        cluster: the target; the runs topic is added to the topics that it watches.
    """

    def __init__(self, cluster: Cluster, route_key: str):
        self.positions: Positions = ()
        """Ends of the topic as last seen: runs published from now on lie behind them."""
        self._cluster = cluster
        self._topic = runs_topic_name(route_key)
        # Topic ids: as first seen, as last seen, and of the topic that `_read_to` counts in.
        self._first_id: UUID | None = None
        self._last_id: UUID | None = None
        self._read_id: UUID | None = None
        self._begins: list[int] = []
        self._read_to: list[int] = []
        self._back: dict[int, tuple[int, int]] = {}
        """Partition -> where reading before `_begins` began, and how far it has come."""
        self._last: dict[RunsKey, LastRun] = {}
        self._empty: dict[RunsKey, dict[int, int]] = {}
        """Ends of segments without a run, by their begins."""
        self.bytes_read = 0
        cluster.watch([self._topic])

    async def look(self) -> None:
        """Reads the ends of the topic; does nothing where the topic does not exist."""
        known = self._cluster.topic(self._topic)
        if known is None:
            return
        self._first_id, self._last_id = self._first_id or known.id, known.id
        ends = await gather_or_cancel(
            *(self._cluster.log_end(self._topic, number) for number in range(len(known.leaders)))
        )
        self.positions = tuple(ends)

    async def published_since(self, positions: Positions) -> dict[RunsKey, LastRun]:
        """Returns the last run of each key that was published since the positions.

        Earlier runs that were read before are included. A topic that is recreated while this reader
        lives is read whole.
        """
        await self.look()
        ends, topic_id = self.positions, self._last_id
        starts = await gather_or_cancel(
            *(self._cluster.log_start(self._topic, number) for number in range(len(ends)))
        )
        # A position past the end is one of a topic that was recreated before this reader saw it:
        # its partition is read whole, and so is an added partition.
        is_anew = topic_id != self._first_id
        known = [
            position if position <= end and not is_anew else 0
            for position, end in zip(positions, ends, strict=False)
        ]
        known += [0] * (len(ends) - len(known))
        begins = [max(start, begin) for start, begin in zip(starts, known, strict=True)]
        if self._read_id != topic_id or len(self._begins) != len(ends):
            self._begins, self._read_to, self._back = list(begins), list(begins), {}
            self._read_id = topic_id
        for number, end in enumerate(ends):
            if begins[number] < self._begins[number]:
                # The next call continues an attempt that was cut short.
                begin, at = self._back.get(number, (begins[number], begins[number]))
                if begins[number] < begin:
                    begin = at = begins[number]
                async for read_to in self._read(number, at, self._begins[number]):
                    self._back[number] = begin, read_to
                self._back.pop(number, None)
                self._begins[number] = begin
            async for read_to in self._read(number, self._read_to[number], end):
                self._read_to[number] = read_to
        return self._last

    async def _read(self, number: int, begin: int, end: int) -> AsyncIterator[int]:
        """Takes all messages from `begin` on; yields the offset reached, up to `end` or beyond."""
        at = begin
        while at < end:
            data = await self._cluster.read(self._topic, number, at, READ_BYTES)
            self.bytes_read += len(data)
            starts = layout(data).starts
            if starts:
                records = opened(data, starts).since(at)
                # Newest first: older messages of the same key then show by their first bytes to end
                # before it.
                for key, value in reversed(list(_pairs(records.data, records.tail))):
                    self._take(key, value)
                at = int(records.offset[-1]) + 1 if len(records) else end
                yield at

    def _take(self, key: bytes, value: bytes) -> None:
        """Notes the last run of a message; skips repeated and late runs, and any other format."""
        try:
            of = decode_key(key)
            before, span = self._last.get(of), _span(value)
            if before and span and span[1] <= before.source_end:
                return
            piece = unpack(value)
        except (UnknownVersion, BrokenPiece):
            return
        if len(piece.counts):
            source_end = int(piece.sources[-1] + piece.counts[-1])
            if before is None or source_end > before.source_end:
                left_out = span[1] - source_end if span else 0
                target_end = int(piece.targets[-1] + piece.counts[-1])
                self._last[of] = LastRun(source_end, target_end, left_out)
        elif span:
            self._empty.setdefault(of, {})[span[0]] = span[1]
        self._join_empty(of)

    def _join_empty(self, of: RunsKey) -> None:
        """Adds the segments without a run that follow the last run at once.

        One that another segment contradicts is left out: a later carrier may find records in the
        source where an earlier one found none, as replicas compact on their own.
        """
        last, empty = self._last.get(of), self._empty.get(of)
        while last and empty and (end := empty.pop(last.source_end + last.left_out, 0)):
            last = self._last[of] = replace(last, left_out=end - last.source_end)


def _span(value: bytes) -> tuple[int, int] | None:
    """Returns the source offsets that a packed piece accounts for, by its first bytes.

    None for a piece that does not cover exactly one span: it may end anywhere.
    """
    if value[:1] != FORMAT:
        return None
    try:
        spans, begin, length = islice(varints.numbers(value[1:]), 3)
    except ValueError:
        return None
    return (begin, begin + length) if spans == 1 else None


def _pairs(data: bytes | memoryview, tails: npt.NDArray[np.int64]) -> Iterator[tuple[bytes, bytes]]:
    """Yields the keys and values of the records whose tails begin at these bytes."""
    octets = np.frombuffer(data, dtype=np.uint8)
    key_bytes, key_at = varints.read_signed(octets, tails)
    value_bytes, value_at = varints.read_signed(octets, key_at + key_bytes)
    view = memoryview(data)
    rows = zip(key_at, key_bytes, value_at, value_bytes, strict=True)
    for at, size, behind, length in rows:
        yield bytes(view[at : at + size]), bytes(view[behind : behind + length])
