"""Groups with members outside their primary region, found by their records and members.

A group without a record, or whose record names no region, may be active anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from replicator.groups.membership.primary_region import PrimaryRegion, regions


@dataclass(frozen=True, slots=True)
class OutOfPlace:
    """Group with members outside its primary region.

    Args:
        primary: the region that the group lives in.
        active: all regions where the group has members, sorted.
    """

    group: str
    primary: str
    active: tuple[str, ...]

    @property
    def is_twice(self) -> bool:
        """Returns True when the group has members in several regions, which read the
        same records.
        """
        return len(self.active) > 1

    @property
    def outside(self) -> tuple[str, ...]:
        """Regions where the group should have no members."""
        return tuple(region for region in self.active if region != self.primary)

    def __str__(self) -> str:
        where = " and ".join(self.active)
        return f"group {self.group!r} has members in {where}; it lives in {self.primary}"


def out_of_place(
    primaries: Mapping[str, PrimaryRegion], active: Mapping[str, frozenset[str]]
) -> dict[str, OutOfPlace]:
    """Returns the groups with members outside their primary region, by group.

    Args:
        primaries: the records, by group.
        active: the groups with members, by region; a region of which nothing is known is left out.
    """
    found = {
        group: OutOfPlace(group, primary, tuple(sorted(it for it in active if group in active[it])))
        for group, primary in regions(primaries).items()
    }
    return {group: it for group, it in found.items() if it.outside}
