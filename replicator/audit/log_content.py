"""Content of a range of a log, by offset: its records, and offsets that readers do not see.

Counting needs only batch headers, and the records of batches that compaction thinned. Fingerprints
need every record. All CRCs are verified in either case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from replicator.audit.claims import spans_of
from replicator.batches.batch import CONTROL, BrokenBatch, Header, OldFormat, header_at, layout
from replicator.batches.old_format import upconverted
from replicator.batches.read_committed import ReadCommittedFilter
from replicator.batches.records import Records, headers_at, opened
from replicator.mirror.offset_map.spans import Spans

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_NOTHING: Ints = np.zeros(0, dtype=np.int64)
# Odd numbers without a pattern, from SplitMix64.
_TIMESTAMP_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_CONTENT_FACTOR = np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprints:
    """Fingerprints of records, with their offsets and bytes (key, value, headers)."""

    offset: Ints = field(default_factory=_NOTHING.copy)
    print: Ints = field(default_factory=_NOTHING.copy)
    bytes: Ints = field(default_factory=_NOTHING.copy)

    def where(self, keep: Flags) -> Fingerprints:
        return Fingerprints(self.offset[keep], self.print[keep], self.bytes[keep])


@dataclass(frozen=True, slots=True, eq=False)
class LogContent:
    """Content of a range of a log.

    Args:
        records: offsets of records that readers see.
        invisible: offsets of markers and of aborted records.
        fingerprints: empty unless they were requested.
    """

    records: Spans = field(default_factory=Spans)
    invisible: Spans = field(default_factory=Spans)
    fingerprints: Fingerprints = field(default_factory=Fingerprints)


def content_of(
    fetched: bytes | memoryview,
    begin: int,
    end: int,
    *,
    aborted: Iterable[tuple[int, int]] | None,
    with_fingerprints: bool,
) -> tuple[LogContent, int]:
    """Returns a fetch's content at begin..end-1, and the offset behind its last whole batch.

    Args:
        aborted: the fetch's aborted transactions, as (producer id, first offset).

    Raises BrokenBatch, where the broken batch stands before `end`.
    """
    view, starts = _whole_batches(fetched, end)
    if not starts:
        return LogContent(), begin
    headers = headers_at(view, starts)
    base = headers["base_offset"].astype(np.int64)
    behind = base + headers["last_offset_delta"] + 1
    is_within = (behind > begin) & (base < end)
    is_data = _data(view, starts, headers["attributes"], ReadCommittedFilter(aborted))
    left, right = np.maximum(base, begin), np.minimum(behind, end)
    invisible = is_within & ~is_data
    held = is_within & is_data & (headers["count"] > 0)
    is_gapless = headers["count"] == behind - base
    to_open = held if with_fingerprints else held & ~is_gapless
    found, offsets = Fingerprints(), _NOTHING
    if to_open.any():
        records = opened(view, np.asarray(starts)[to_open].tolist())
        is_inside = (records.offset >= begin) & (records.offset < end)
        if with_fingerprints:
            found = fingerprints_of(records).where(is_inside)
        # Offsets of gapless batches follow from their headers.
        is_thinned = np.repeat(~is_gapless[to_open], headers["count"][to_open])
        offsets = records.offset[is_inside & is_thinned]
    plain = held & is_gapless
    whole = spans_of(
        np.concatenate([left[plain], offsets]), np.concatenate([right[plain], offsets + 1])
    )
    return LogContent(whole, spans_of(left[invisible], right[invisible]), found), int(behind[-1])


def joined(parts: Sequence[LogContent]) -> LogContent:
    """Joins parts in the order in which they were read."""
    sides = []
    for name in ("records", "invisible"):
        columns = [getattr(part, name).columns() for part in parts]
        begins, ends = zip(*columns, strict=True) if columns else ((), ())
        sides.append(
            spans_of(np.concatenate([_NOTHING, *begins]), np.concatenate([_NOTHING, *ends]))
        )
    columns = [
        np.concatenate([_NOTHING, *(getattr(part.fingerprints, name) for part in parts)])
        for name in ("offset", "print", "bytes")
    ]
    return LogContent(sides[0], sides[1], Fingerprints(*columns))


def fingerprints_of(records: Records) -> Fingerprints:
    """Returns 64 bits for key, value, headers and timestamp; comparable within one process only.

    Takes a quarter of a microsecond per record. Two different records get equal bits once in 10^19.
    """
    data = bytes(records.data)
    limits = zip(records.tail.tolist(), records.end.tolist(), strict=True)
    content = np.fromiter(
        (hash(data[begin:end]) for begin, end in limits), np.int64, len(records)
    ).view(np.uint64)
    mixed = (content ^ (content >> np.uint64(31))) * _CONTENT_FACTOR
    mixed += records.timestamp.view(np.uint64) * _TIMESTAMP_FACTOR
    mixed ^= mixed >> np.uint64(29)
    return Fingerprints(records.offset, mixed.view(np.int64), records.end - records.tail)


def _whole_batches(fetched: bytes | memoryview, end: int) -> tuple[memoryview, list[int]]:
    view = memoryview(fetched)
    found = layout(view)
    broken = found.stopped
    if isinstance(broken, OldFormat):
        modern, broken = upconverted(view.tobytes())
        view = memoryview(modern)
        found = layout(view)
        broken = broken or found.stopped
    if isinstance(broken, BrokenBatch) and broken.first_offset < end:
        raise broken
    return view, found.starts


def _data(
    view: memoryview,
    starts: Sequence[int],
    attributes: npt.NDArray[np.int16],
    committed: ReadCommittedFilter,
) -> Flags:
    """Returns, by batch, True if a reader of committed records sees its records."""
    if committed.is_trivial:
        is_data: Flags = attributes & CONTROL == 0
        return is_data

    def is_accepted(start: int) -> bool:
        header: Header = header_at(view, start)
        return committed.accepts(header, view[start : start + header.size])

    return np.fromiter(map(is_accepted, starts), np.bool_, len(starts))
