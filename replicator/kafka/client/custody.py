"""Custody: who may have written after a partition's committed entry."""

from __future__ import annotations

from enum import StrEnum


class Custody(StrEnum):
    """State of a partition's ownership."""

    VIRGIN = "virgin"
    """Adopted, never carried: the start position is found at the first acquisition."""
    HELD = "held"
    """A writer may have appended after the entry; the next holder fences it and reads the tail."""
    RELEASED = "released"
    """Every record was acknowledged when the entry was written; no tail has to be read."""
