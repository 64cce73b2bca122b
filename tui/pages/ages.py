"""Age of what is shown: how old the oldest answer is of those that a snapshot soon has anew."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.facts.moments import UNKNOWN

if TYPE_CHECKING:
    from tui.facts.snapshot import Snapshot

QUICK_SECONDS = 10.0
"""Longest time between two questions whose answers count for the age. Topic lists and settings are
asked for less often, and their age says nothing about figures."""


@dataclass(frozen=True, slots=True)
class DataAge:
    """Age of a snapshot as text, with its tone."""

    text: str
    tone: str


def data_age(snapshot: Snapshot, now: float) -> DataAge:
    """Returns the age of the oldest answer, and STALE when one is older than three cadences.

    Answers that are asked for less often than each QUICK_SECONDS count only when stale. Questions
    that never had an answer are counted: those that a server refused, or that failed, and those
    that are open.
    """
    asked = [(part.asked_at, part) for part in snapshot.parts if part.asked_at is not None]
    silent = [part for part in snapshot.parts if part.asked_at is None]
    stale = [at for at, part in asked if part.is_stale(now)]
    quick = [at for at, part in asked if part.cadence_seconds <= QUICK_SECONDS]
    if not asked:
        return DataAge("no answer yet", "warn")
    age = age_text(now - min(quick + stale or [at for at, _ in asked]))
    if stale:
        return DataAge(f"STALE, data {age} old", "bad")
    refused = sum(part.problem is not None for part in silent)
    texts = [f"data {age} old"]
    texts += [f"{refused} refused"] if refused else []
    texts += [f"{len(silent) - refused} not yet"] if len(silent) > refused else []
    return DataAge(", ".join(texts), "warn" if silent else "")


def age_text(seconds: float | None) -> str:
    """Returns a time for people: 1.2 s, 34 s, 5:02, 3 h 12 min, 2 d 4 h."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    seconds = max(0.0, seconds)
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"
