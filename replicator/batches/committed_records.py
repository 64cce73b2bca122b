"""Committed records of one fetch, opened: the records that a read_committed consumer sees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from replicator.batches.batch import BrokenBatch, Layout, OldFormat, header_at, layout
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
    fetched: bytes | memoryview, *, position: int, aborted: Iterable[tuple[int, int]] | None
) -> CommittedRecords:
    """Opens the records of a fetch from an offset on.

    Damaged data is reported in the result and not raised.

    Args:
        aborted: aborted transactions of the answer, as (producer id, first offset).
    """
    view, found, trouble = laid_out(memoryview(fetched))
    committed = ReadCommittedFilter(aborted)
    starts: list[int] = []
    next_offset, leader_epoch = position, -1
    for start in found.starts:
        header = header_at(view, start)
        if header.next_offset <= position:
            continue
        batch = view[start : start + header.size]
        if committed.accepts(header, batch) and header.count:
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
) -> tuple[BrokenBatch, list[int], int, int]:
    """Returns the first batch that cannot be opened alone, and what stands before it."""
    for at, start in enumerate(starts):
        try:
            opened(view, [start])
        except BrokenBatch as alone:
            header = header_at(view, start)
            before = header_at(view, starts[at - 1]) if at else None
            return alone, starts[:at], header.base_offset, before.leader_epoch if before else -1
    return broken, [], broken.first_offset, -1
