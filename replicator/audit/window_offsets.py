"""Source offsets of a window of time, and offsets that belong to no known window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from replicator.audit.window import iso
from replicator.mirror.offset_map.spans import Span

AHEAD_MS = 10 * 60_000
"""Time by which producers' clocks may be ahead of ours."""


class OffsetAndTimestamp(NamedTuple):
    """Record, by its offset and timestamp."""

    offset: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class WindowOffsets:
    """Part of a window in one partition.

    Args:
        span: from the first record at or after the window's begin to the first at or after its end,
            but not past the first open transaction.
        held_back: offsets of the window behind that transaction's begin.
        log_start: the log's first offset, if the window begins there and older offsets were
            deleted. Records of the window may then be gone. None otherwise.
        unordered: offsets behind a record with a future timestamp, which no window holds.
        note: about that record; empty without one.
    """

    span: Span
    held_back: int = 0
    log_start: int | None = None
    unordered: int = 0
    note: str = ""


def window_offsets(
    begin: OffsetAndTimestamp | None,
    end: OffsetAndTimestamp | None,
    *,
    log_start: int,
    stable_end: int,
    log_end: int,
    now_ms: int,
) -> WindowOffsets:
    """Returns the offsets, by the source's answers.

    Args:
        begin, end: the first record at or after the window's begin, and at or after its end; None:
            there is none.
        stable_end: where the first open transaction begins, or the log's end.
    """
    behind = log_end if end is None else end.offset
    first = behind if begin is None else min(begin.offset, behind)
    span = Span(min(first, stable_end), min(behind, stable_end))
    unordered, note = 0, ""
    if end is not None and end.timestamp_ms > now_ms + AHEAD_MS:
        unordered = log_end - end.offset
        note = (
            f"source offset {end.offset} has the time {iso(end.timestamp_ms)}, which is yet to"
            " come: no window holds what follows it"
        )
    is_cut = 0 < log_start == first
    return WindowOffsets(
        span, behind - max(span.end, first), log_start if is_cut else None, unordered, note
    )
