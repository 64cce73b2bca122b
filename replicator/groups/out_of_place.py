"""Which groups have members where they do not live: decided from records and from who is active.

A group without a record, or whose record names no region, may be active anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from replicator.groups.primary_region import PrimaryRegion, regions


@dataclass(frozen=True, slots=True)
class OutOfPlace:
    """A group with members outside its primary region.

    Args:
        primary: the region it lives in.
        active: all regions where it has members, sorted.
    """

    group: str
    primary: str
    active: tuple[str, ...]

    @property
    def is_twice(self) -> bool:
        """It has members in two regions at once: each reads what the other has read."""
        return len(self.active) > 1

    @property
    def outside(self) -> tuple[str, ...]:
        """The regions where it should have no members."""
        return tuple(region for region in self.active if region != self.primary)

    def __str__(self) -> str:
        where = " and ".join(self.active)
        return f"group {self.group!r} has members in {where}; it lives in {self.primary}"


def out_of_place(
    primaries: Mapping[str, PrimaryRegion], active: Mapping[str, frozenset[str]]
) -> dict[str, OutOfPlace]:
    """By group.

    Args:
        primaries: the records, by group.
        active: by region, the groups with members; a region of which nothing is known is left out.
    """
    found = {
        group: OutOfPlace(group, primary, tuple(sorted(it for it in active if group in active[it])))
        for group, primary in regions(primaries).items()
    }
    return {group: it for group, it in found.items() if it.outside}
