"""Primary regions and members of consumer groups, as known in one region."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from replicator.config.names import OWN_PREFIX
from replicator.groups.membership.primary_region import PrimaryRegion


def is_application(group: str) -> bool:
    """Returns False for a group of Sluice itself."""
    return not group.startswith(OWN_PREFIX)


@dataclass(frozen=True, slots=True)
class GroupLocations:
    """Locations of groups, from one probe.

    Args:
        region: region whose servers were asked.
        records: record of the primary region, by group; None when not known.
        active: groups with members, by region; a region that is not known about is left out.
        silent: regions left out of `active`.
        groups: names of all known groups, sorted.
        problems: failed reads, as texts for people.
        types: type of each group that a cluster was asked for, and of those that no plan moves.
    """

    region: str
    records: Mapping[str, PrimaryRegion] | None
    active: Mapping[str, frozenset[str]]
    silent: tuple[str, ...]
    groups: tuple[str, ...]
    problems: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)

    def only(self, groups: Iterable[str]) -> GroupLocations:
        """Returns the result for these groups alone; a group may be otherwise unknown."""
        return replace(self, groups=tuple(sorted(set(groups))))

    def active_in(self, group: str) -> tuple[str, ...]:
        """Returns the known regions in which the group has members, sorted."""
        return tuple(sorted(region for region, some in self.active.items() if group in some))

    def elsewhere(self, group: str, region: str | None) -> tuple[str, ...]:
        """Returns the regions other than `region` in which the group has members.

        The result is empty when `region` is None: the group may then have members anywhere.
        """
        return tuple(it for it in self.active_in(group) if region is not None and it != region)


@dataclass(frozen=True, slots=True)
class PrimaryChange:
    """Change of the primary region of one group.

    Args:
        record: record that counts now; None when the group has none and needs none.
        is_new: True when the change made the record; False when the group lived there already.
    """

    group: str
    record: PrimaryRegion | None
    is_new: bool


@dataclass(frozen=True, slots=True)
class PrimaryChanges:
    """Changes of all groups that an operator names, and what could not be finished."""

    changes: tuple[PrimaryChange, ...]
    problems: tuple[str, ...] = ()
