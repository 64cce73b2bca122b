"""Which source offsets belong to a window of time, and which of them cannot be told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from replicator.audit.window import iso
from replicator.offsets.spans import Span

AHEAD_MS = 10 * 60_000
"""Clocks of producers may be so far ahead of ours."""


class Stamp(NamedTuple):
    """A record: where it stands, and its time."""

    offset: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class WindowOffsets:
    """A partition's part of a window.

    Args:
        span: from the first record of the window's begin or later to the first one of its end or
            later, up to the first open transaction.
        held_back: offsets of it behind that.
        log_start: the log's first offset, where the window begins with it though it once had
            others: some of the window may be deleted; else None.
        unordered: offsets behind a record with a time to come: no window holds them.
        note: of that record; empty without one.
    """

    span: Span
    held_back: int = 0
    log_start: int | None = None
    unordered: int = 0
    note: str = ""


def window_offsets(
    begin: Stamp | None,
    end: Stamp | None,
    *,
    log_start: int,
    stable_end: int,
    log_end: int,
    now_ms: int,
) -> WindowOffsets:
    """What the source's answers say.

    Args:
        begin, end: the first record of the window's begin, and end, or later; None: there is none.
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
