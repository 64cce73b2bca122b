"""Committed records of one fetch, opened: the records that a read_committed consumer sees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from replicator.batches.batch import (
    CODEC_BITS,
    BrokenBatch,
    Header,
    Layout,
    OldFormat,
    header_at,
    layout,
)
from replicator.batches.old_format import upconverted
from replicator.batches.read_committed import ReadCommittedFilter
from replicator.batches.records import Records, opened


@dataclass(frozen=True, slots=True)
class CommittedRecords:
    """Result of opening one fetch; if there is a `trouble`, it ends before that batch.

    Args:
        records: None if the fetch has no committed record.
        next_offset: offset to fetch from next; lies behind batches that were left out, too.
        cut_bytes: size of the batch that the fetch limit cut off. Without progress, fetch so much.
        leader_epoch: of the last batch before `next_offset`, left out or not; -1 if there is none.
    """

    records: Records | None
    next_offset: int
    cut_bytes: int
    leader_epoch: int = -1
    trouble: BrokenBatch | None = None


def committed_records(
    fetched: bytes | memoryview,
    *,
    position: int,
    aborted: Iterable[tuple[int, int]] | None,
    opened_bytes_max: int | None = None,
    end: int | None = None,
) -> CommittedRecords:
    """Opens the records of a fetch from an offset on.

    Damaged data is reported in the result and not raised.

    Args:
        aborted: aborted transactions of the answer, as (producer id, first offset).
        opened_bytes_max: bytes to which compressed batches may open, roughly; the result ends
            before the batch that would exceed them. One batch is opened in any case.
        end: batches that begin here or later are left out; None: none is.
    """
    view, found, trouble = laid_out(memoryview(fetched))
    committed = ReadCommittedFilter(aborted)
    starts: list[int] = []
    room = _Room(opened_bytes_max, view)
    next_offset, leader_epoch = position, -1
    for start in found.starts:
        header = header_at(view, start)
        if header.next_offset <= position:
            continue
        if end is not None and header.base_offset >= end:
            trouble, next_offset = None, max(next_offset, end)
            break
        batch = view[start : start + header.size]
        if committed.accepts(header, batch) and header.count:
            if not room.takes(header, start):
                trouble = None
                break
            starts.append(start)
        next_offset, leader_epoch = header.next_offset, header.leader_epoch
    records = None
    while starts:
        try:
            records = opened(view, starts).since(position)
            break
        except BrokenBatch as broken:
            # Opened once more without the broken batch, and with nothing behind it.
            trouble, starts, next_offset, leader_epoch = _before_broken(view, starts, broken)
            next_offset = max(next_offset, position)
    return CommittedRecords(records, next_offset, found.cut_bytes, leader_epoch, trouble)


@dataclass(slots=True)
class _Room:
    """Room for opened records.

    A batch does not say how far it decompresses. The first one is opened to learn how many bytes
    its records have; by that others are judged, and by how far it was compressed.
    """

    bytes_max: int | None
    view: memoryview
    _record_bytes: float = 0.0
    _ratio: float = 0.0
    _taken: float = 0.0

    def takes(self, header: Header, start: int) -> bool:
        """Returns True if there is room for a batch, or if it is the first one."""
        if self.bytes_max is None:
            return True
        if not header.attributes & CODEC_BITS:
            size = float(header.size)
        else:
            if not self._ratio:
                self._learn(header, start)
            size = max(self._record_bytes * header.count, self._ratio * header.size)
        is_first, self._taken = not self._taken, self._taken + size
        return is_first or self._taken <= self.bytes_max

    def _learn(self, header: Header, start: int) -> None:
        try:
            opened_bytes = len(opened(self.view, [start]).data)
        except BrokenBatch:
            opened_bytes = header.size  # told when all are opened
        self._ratio = max(1.0, opened_bytes / header.size)
        self._record_bytes = opened_bytes / header.count


def laid_out(fetched: memoryview) -> tuple[memoryview, Layout, BrokenBatch | None]:
    """Returns the fetch as v2 batches, their layout, and the broken batch if there is one."""
    found = layout(fetched)
    broken = None
    if isinstance(found.stopped, OldFormat):
        modern, broken = upconverted(fetched.tobytes())
        fetched = memoryview(modern)
        found = layout(fetched)
    return fetched, found, found.stopped if isinstance(found.stopped, BrokenBatch) else broken


def _before_broken(
    view: memoryview, starts: list[int], broken: BrokenBatch
) -> tuple[BrokenBatch | None, list[int], int, int]:
    """Returns the first batch that cannot be opened alone, and what stands before it; the first
    half of the batches if each can: they decompress too far together."""
    for at, start in enumerate(starts):
        try:
            opened(view, [start])
        except BrokenBatch as alone:
            header = header_at(view, start)
            before = header_at(view, starts[at - 1]) if at else None
            return alone, starts[:at], header.base_offset, before.leader_epoch if before else -1
    if len(starts) == 1:
        return broken, [], broken.first_offset, -1
    half = starts[: len(starts) // 2]
    last = header_at(view, half[-1])
    return None, half, last.next_offset, last.leader_epoch
