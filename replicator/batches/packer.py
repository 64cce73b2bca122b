"""Packing of one fetch of a source partition into outgoing batches, in order."""

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
from replicator.batches.codec import DecompressesTooFar
from replicator.batches.old_format import upconverted
from replicator.batches.outgoing_batch import OutgoingBatch, Reason, RecordTooLarge
from replicator.batches.read_committed import ReadCommittedFilter
from replicator.batches.records import headers_at, opened, rebatch, why_open

MAX_MESSAGE_BYTES = 1_048_588
"""Kafka's default of max.message.bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackingRule:
    """Limits of the target, and the sizes below which small batches are merged.

    Costs measured with bench/batch_codec.py, lz4, records of 200 bytes, without the target's own
    work:

    - An unopened batch costs 7 microseconds here and its part of a request: about 10 microseconds
      where many partitions share the request, 200 where the batch travels alone.
    - Opening and merging costs 2 microseconds for a batch of 1 record, 7 for 5, 24 for 20 and 110
      for 100. This is one microsecond per record and 1 to 1.5 nanoseconds per byte.
    - Each merge costs another 300 microseconds, however few its batches are.

    A batch at the limits below costs about 40 microseconds to merge, the geometric mean of 10 and
    200. From eight batches on, merging saves more than the 300 microseconds. Many adjacent small
    batches also mean a backlog. Five batches in flight would not work it off, because a request
    takes only one batch of a partition.
    """

    max_bytes: int
    """max.message.bytes of the target topic."""
    merge_below_records: int = 32
    """Batches with fewer records are merged with their neighbors; 0 turns merging off."""
    merge_below_bytes: int = 8192
    """Batches of at least this size are not merged for being small."""
    merge_batches_min: int = 8
    """Fewer adjacent small batches than this are not merged."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Result of packing one fetch.

    If there is a `trouble`, everything before it is packed, and nothing behind it.
    """

    batches: list[OutgoingBatch]
    next_offset: int
    """Source offset to fetch from next; lies behind batches that were left out, too."""
    cut_bytes: int
    """Size of the batch that the fetch limit cut off. If there was no progress, fetch that much."""
    opened: Counter[Reason]
    """Number of opened batches by reason; messages of old formats count as rewritten v2 batches."""
    leader_epoch: int = -1
    """Leader epoch of the last batch before `next_offset`, left out or not; -1 if there is none."""
    trouble: BrokenBatch | RecordTooLarge | None = None


def pack(
    fetched: bytes | memoryview,
    *,
    position: int,
    aborted: Iterable[tuple[int, int]] | None,
    rule: PackingRule,
) -> Packed:
    """Packs the records that a read_committed consumer would see from a source offset on.

    Damaged data is reported in the result and not raised.

    Args:
        fetched: the broker's answer for the partition. Unopened outgoing batches are slices of it
            and are stamped in place; a read-only buffer is copied first.
        position: first source offset to carry.
        aborted: aborted transactions of the answer, as (producer id, first offset).
    """
    view, found, broken = _laid_out(memoryview(fetched))
    packing = _Packing(view, position, ReadCommittedFilter(aborted), rule)
    for first, last, is_small_alone in _segments(_small_alone(view, found.starts, position, rule)):
        if is_small_alone:
            packing.add_small(found.starts[first:last])
        else:
            for start in found.starts[first:last]:
                packing.add(start)
    packing.open_waiting()
    return Packed(
        packing.batches,
        packing.next_offset,
        found.cut_bytes,
        packing.opened,
        packing.leader_epoch,
        packing.trouble or broken,
    )


def _laid_out(fetched: memoryview) -> tuple[memoryview, Layout, BrokenBatch | None]:
    """Returns the fetch as writable v2 batches, their layout, and the broken batch if there is
    one."""
    found = layout(fetched)
    broken = None
    if isinstance(found.stopped, OldFormat):
        modern, broken = upconverted(fetched.tobytes())
        fetched = memoryview(modern)
        found = layout(fetched)
    if fetched.readonly:
        fetched = memoryview(bytearray(fetched))
    return fetched, found, found.stopped if isinstance(found.stopped, BrokenBatch) else broken


def is_small(count: Any, length: Any, rule: PackingRule) -> Any:
    """Returns True where a batch alone is small enough to merge; takes scalars or columns."""
    return (count < rule.merge_below_records) & (length < rule.merge_below_bytes)


# Below this many batches, a check per batch is faster than one check over columns.
_AT_ONCE_MIN = 16


def _small_alone(
    fetched: memoryview, starts: list[int], position: int, rule: PackingRule
) -> npt.NDArray[np.bool_]:
    """Marks the batches that are small and need no further check; `add` examines all others."""
    if len(starts) < _AT_ONCE_MIN:
        return np.zeros(len(starts), dtype=np.bool_)
    headers = headers_at(fetched, starts)
    is_plain = headers["attributes"] & ~CODEC_BITS == 0
    is_gapless = headers["count"] == headers["last_offset_delta"] + 1
    is_ahead = headers["base_offset"] >= position
    small: npt.NDArray[np.bool_] = (
        is_small(headers["count"], headers["length"], rule) & is_plain & is_gapless & is_ahead
    )
    return small


def _segments(flags: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int, bool]]:
    """Yields (first, last + 1, flag) of each segment of equal flags."""
    edges = [0, *(np.flatnonzero(flags[1:] != flags[:-1]) + 1).tolist(), len(flags)]
    for first, last in pairwise(edges):
        if first < last:
            yield first, last, bool(flags[first])


class _Packing:
    """State of packing one fetch; `_waiting` holds adjacent batches to be opened together."""

    __slots__ = (
        "_committed",
        "_fetched",
        "_position",
        "_reasons",
        "_rule",
        "_waiting",
        "batches",
        "leader_epoch",
        "next_offset",
        "opened",
        "trouble",
    )

    def __init__(
        self, fetched: memoryview, position: int, committed: ReadCommittedFilter, rule: PackingRule
    ) -> None:
        self._fetched = fetched
        self._position = position
        self._committed = committed
        self._rule = rule
        self._waiting: list[int] = []
        self._reasons: Counter[Reason] = Counter()
        self.next_offset = position
        self.leader_epoch = -1
        self.batches: list[OutgoingBatch] = []
        self.opened: Counter[Reason] = Counter()
        self.trouble: BrokenBatch | RecordTooLarge | None = None

    def add_small(self, starts: list[int]) -> None:
        """Adds adjacent small batches that need no further check."""
        if self.trouble is None:
            self._wait(starts, Reason.SMALL)
            last = header_at(self._fetched, starts[-1])
            self.next_offset, self.leader_epoch = last.next_offset, last.leader_epoch

    def add(self, start: int) -> None:
        """Adds the next batch of any kind."""
        header = header_at(self._fetched, start)
        if self.trouble is not None or header.next_offset <= self._position:
            return
        view = self._fetched[start : start + header.size]
        if self._committed.accepts(header, view) and header.count:
            self._add_accepted(start, header)
        if self.trouble is None:
            self.next_offset, self.leader_epoch = header.next_offset, header.leader_epoch

    def _add_accepted(self, start: int, header: Header) -> None:
        reason = why_open(header, position=self._position, max_bytes=self._rule.max_bytes)
        if reason is None and is_small(header.count, header.length, self._rule):
            reason = Reason.SMALL
        if reason is not None:
            self._wait([start], reason)
        else:
            self.open_waiting()
            if self.trouble is None:
                self._forward(start, header)

    def _wait(self, starts: list[int], reason: Reason) -> None:
        self._waiting += starts
        self._reasons[reason] += len(starts)

    def open_waiting(self) -> None:
        """Opens and merges the waiting batches; too few small ones are forwarded unopened."""
        waiting, reasons = self._waiting, self._reasons
        if self.trouble is not None or not waiting:
            return
        self._waiting, self._reasons = [], Counter()
        if reasons[Reason.SMALL] == len(waiting) < self._rule.merge_batches_min:
            for start in waiting:
                self._forward(start, header_at(self._fetched, start))
        else:
            self.opened += reasons
            self._merge(waiting)

    def _forward(self, start: int, header: Header) -> None:
        data = self._fetched[start : start + header.size]
        span = (header.base_offset, header.count)
        self.batches.append(OutgoingBatch(data, header.count, (span,), False))

    def _merge(self, starts: list[int]) -> None:
        try:
            records = opened(self._fetched, starts).since(self._position)
        except BrokenBatch as broken:
            self._merge_up_to_broken(starts, broken)
            return
        batches, too_large = rebatch(records, max_bytes=self._rule.max_bytes)
        self.batches += batches
        if too_large is not None:
            self._stop(too_large, too_large.offset)

    def _merge_up_to_broken(self, starts: list[int], broken: BrokenBatch) -> None:
        if len(starts) == 1:
            header = header_at(self._fetched, starts[0])
            must_open = why_open(header, position=self._position, max_bytes=self._rule.max_bytes)
            if isinstance(broken.__cause__, DecompressesTooFar) and must_open is None:
                self._forward(starts[0], header)
            else:
                self._stop(broken, max(self._position, broken.first_offset))
            return
        for start in starts:
            if self.trouble is None:
                self._merge([start])

    def _stop(self, trouble: BrokenBatch | RecordTooLarge, offset: int) -> None:
        self.trouble = trouble
        self.next_offset = offset
