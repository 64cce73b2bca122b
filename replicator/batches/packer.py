"""What one fetch of one source partition becomes: parcels for the target, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from replicator.batches.batch import (
    CODEC_BITS,
    BrokenBatch,
    Header,
    Layout,
    OldFormat,
    header_at,
    layout,
)
from replicator.batches.codec import UnfoldsTooFar
from replicator.batches.committed import Committed
from replicator.batches.old_format import modernised
from replicator.batches.parcel import Parcel, Reason, RecordTooLarge
from replicator.batches.records import headers_at, opened, rebatch, why_open


@dataclass(frozen=True, slots=True, kw_only=True)
class PackingRule:
    """What the target takes, and which batches are so small that they are merged.

    Measured with bench/batch_codec.py, lz4, records of 200 bytes: an unopened batch costs 7
    microseconds here and its part of a request, about 10 where many partitions share one and 200
    where it travels alone, besides the target's own work. Opening and merging costs 2 microseconds
    for a batch of one record, 7 for 5 records, 24 for 20, 110 for 100 (one microsecond a record and
    1 to 1.5 nanoseconds a byte), and 300 on top however few they are. A batch at the limits below
    costs about 40, the geometric middle of 10 and 200; from eight batches on the 300 come back.
    Many small batches side by side also mean a backlog, which five batches in flight would not work
    off: one batch of a partition fits into a request.
    """

    max_bytes: int
    """The target topic's max.message.bytes."""
    merge_below_records: int = 32
    """Batches of fewer records are merged with their neighbours; 0 = never."""
    merge_below_bytes: int = 8192
    """... unless they are larger than this."""
    merge_batches_min: int = 8
    """... and unless fewer of them than this lie side by side."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The outcome of one fetch. Of a `trouble`, all before it is packed and nothing behind it."""

    parcels: list[Parcel]
    next_offset: int
    """Where to fetch from next; behind left-out batches too."""
    cut_bytes: int
    """Size of the batch that the fetch's limit cut off: with no progress, fetch that much."""
    batches_unopened: int
    batches_left_out: int
    """Markers and aborted data."""
    opened: Counter[Reason]
    """How many batches were opened, and why. (Those of old formats were rewritten before.)"""
    leader_epoch: int = -1
    """Of the last batch before next_offset, left out or not; -1 when there is none."""
    trouble: BrokenBatch | RecordTooLarge | None = None

    @property
    def batches_opened(self) -> int:
        return self.opened.total()


def pack(
    fetched: bytes | memoryview,
    *,
    position: int,
    aborted: Iterable[tuple[int, int]] | None,
    rule: PackingRule,
) -> Packed:
    """Parcels for what a read_committed consumer would see from source offset `position` on.

    `fetched` is what the broker answered for the partition: unopened parcels stay in it, and are
    stamped there. `aborted` are its aborted transactions as (producer id, first offset). Damage is
    an outcome, not an exception.
    """
    view, found, broken = _laid_out(memoryview(fetched))
    packing = _Packing(view, position, Committed(aborted), rule)
    for first, last, is_tiny in _stretches(_tiny(view, found.starts, position, rule)):
        if is_tiny:
            packing.add_small(found.starts[first:last])
        else:
            for start in found.starts[first:last]:
                packing.add(start)
    packing.open_waiting()
    return Packed(
        packing.parcels,
        packing.next_offset,
        found.cut_bytes,
        packing.unopened,
        packing.left_out,
        packing.opened,
        packing.leader_epoch,
        packing.trouble or broken,
    )


def _laid_out(fetched: memoryview) -> tuple[memoryview, Layout, BrokenBatch | None]:
    """The fetch in format v2, to be written to; where its batches lie; what is broken behind."""
    found = layout(fetched)
    broken = None
    if isinstance(found.stopped, OldFormat):
        modern, broken = modernised(fetched.tobytes())
        fetched = memoryview(modern)
        found = layout(fetched)
    if fetched.readonly:
        fetched = memoryview(bytearray(fetched))
    return fetched, found, found.stopped if isinstance(found.stopped, BrokenBatch) else broken


def is_small(count: Any, length: Any, rule: PackingRule) -> Any:
    """Whether batches are worth merging, by themselves; for one batch or for columns of them."""
    return (count < rule.merge_below_records) & (length < rule.merge_below_bytes)


# Below this many batches asking each for itself is quicker than asking all at once.
_AT_ONCE_MIN = 16


def _tiny(
    fetched: memoryview, starts: list[int], position: int, rule: PackingRule
) -> npt.NDArray[np.bool_]:
    """Which batches are small and need no further question; the others are asked one by one."""
    if len(starts) < _AT_ONCE_MIN:
        return np.zeros(len(starts), dtype=np.bool_)
    headers = headers_at(fetched, starts)
    is_plain = headers["attributes"] & ~CODEC_BITS == 0
    is_gapless = headers["count"] == headers["last_offset_delta"] + 1
    is_ahead = headers["base_offset"] >= position
    tiny: npt.NDArray[np.bool_] = (
        is_small(headers["count"], headers["length"], rule) & is_plain & is_gapless & is_ahead
    )
    return tiny


def _stretches(flags: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int, bool]]:
    """(first, last + 1, flag) of each stretch of equal flags."""
    edges = [0, *(np.flatnonzero(flags[1:] != flags[:-1]) + 1).tolist(), len(flags)]
    for first, last in pairwise(edges):
        if first < last:
            yield first, last, bool(flags[first])


class _Packing:
    """One fetch while it is being packed; `waiting` are adjacent batches to be opened together."""

    __slots__ = (
        "_committed",
        "_fetched",
        "_position",
        "_reasons",
        "_rule",
        "_waiting",
        "leader_epoch",
        "left_out",
        "next_offset",
        "opened",
        "parcels",
        "trouble",
        "unopened",
    )

    def __init__(
        self, fetched: memoryview, position: int, committed: Committed, rule: PackingRule
    ) -> None:
        self._fetched = fetched
        self._position = position
        self._committed = committed
        self._rule = rule
        self._waiting: list[int] = []
        self._reasons: Counter[Reason] = Counter()
        self.next_offset = position
        self.leader_epoch = -1
        self.parcels: list[Parcel] = []
        self.opened: Counter[Reason] = Counter()
        self.unopened = self.left_out = 0
        self.trouble: BrokenBatch | RecordTooLarge | None = None

    def add_small(self, starts: list[int]) -> None:
        """Adjacent small batches without any peculiarity."""
        if self.trouble is None:
            self._wait(starts, Reason.SMALL)
            last = header_at(self._fetched, starts[-1])
            self.next_offset, self.leader_epoch = last.next_offset, last.leader_epoch

    def add(self, start: int) -> None:
        """The next batch, whatever it is."""
        header = header_at(self._fetched, start)
        if self.trouble is not None or header.next_offset <= self._position:
            return
        view = self._fetched[start : start + header.size]
        if not self._committed.carries(header, view):
            self.left_out += 1
        elif header.count:
            self._carry(start, header)
        if self.trouble is None:
            self.next_offset, self.leader_epoch = header.next_offset, header.leader_epoch

    def _carry(self, start: int, header: Header) -> None:
        reason = why_open(header, position=self._position, max_bytes=self._rule.max_bytes)
        if reason is None and is_small(header.count, header.length, self._rule):
            reason = Reason.SMALL
        if reason is not None:
            self._wait([start], reason)
        else:
            self.open_waiting()
            if self.trouble is None:
                self._unopened(start, header)

    def _wait(self, starts: list[int], reason: Reason) -> None:
        self._waiting += starts
        self._reasons[reason] += len(starts)

    def open_waiting(self) -> None:
        """Opens and merges what waits; too few small ones ride unopened after all."""
        waiting, reasons = self._waiting, self._reasons
        if self.trouble is not None or not waiting:
            return
        self._waiting, self._reasons = [], Counter()
        if reasons[Reason.SMALL] == len(waiting) < self._rule.merge_batches_min:
            for start in waiting:
                self._unopened(start, header_at(self._fetched, start))
        else:
            self.opened += reasons
            self._merged(waiting)

    def _unopened(self, start: int, header: Header) -> None:
        data = self._fetched[start : start + header.size]
        span = (header.base_offset, header.count)
        self.parcels.append(Parcel(data, header.count, (span,), False))
        self.unopened += 1

    def _merged(self, starts: list[int]) -> None:
        try:
            records = opened(self._fetched, starts).since(self._position)
        except BrokenBatch as broken:
            self._merged_up_to_the_broken(starts, broken)
            return
        parcels, too_large = rebatch(records, max_bytes=self._rule.max_bytes)
        self.parcels += parcels
        if too_large is not None:
            self._stop(too_large, too_large.offset)

    def _merged_up_to_the_broken(self, starts: list[int], broken: BrokenBatch) -> None:
        if len(starts) == 1:
            header = header_at(self._fetched, starts[0])
            must_open = why_open(header, position=self._position, max_bytes=self._rule.max_bytes)
            if isinstance(broken.__cause__, UnfoldsTooFar) and must_open is None:
                self._unopened(starts[0], header)
            else:
                self._stop(broken, max(self._position, broken.first_offset))
            return
        for start in starts:
            if self.trouble is None:
                self._merged([start])

    def _stop(self, trouble: BrokenBatch | RecordTooLarge, offset: int) -> None:
        self.trouble = trouble
        self.next_offset = offset
