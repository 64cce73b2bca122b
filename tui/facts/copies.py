"""Copies of other regions' logs in one region's Redis, with their ages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RegionCopy:
    """Copy of one region's log.

    Args:
        region: region that the log belongs to.
        of: content of the log: commits, runs of a route, or primary regions.
        age_seconds: the copy has everything that the log held this long ago; None when not known.
        groups, partitions, runs: numbers of each in the copy. None when such a copy has none of
            the kind, or the number is not known.
    """

    region: str
    of: str
    age_seconds: float | None
    groups: int | None = None
    partitions: int | None = None
    runs: int | None = None
