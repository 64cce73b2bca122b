"""Consumer groups: where each lives and has members, its lag, and its positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from replicator.config.names import OWN_PREFIX


def is_application(group: str) -> bool:
    """Returns False for a group of Sluice itself."""
    return not group.startswith(OWN_PREFIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPosition:
    """Position of a group in one partition, in every region, and where it would resume.

    Args:
        committed: next offset by region; a region whose position is not known is left out.
        lag: records that are left, by region, with the same rule.
        resume: offset in the target region at which the group would go on; None: not known.
        basis: what the resume offset stands on, as in `sluice failover plan`.
        read_again: records that would be read a second time, at most; None: not known.
        notes: remarks of the plan on this position.
    """

    topic: str
    partition: int
    committed: Mapping[str, int] = field(default_factory=dict)
    lag: Mapping[str, int] = field(default_factory=dict)
    resume: int | None = None
    basis: str | None = None
    read_again: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDetail:
    """Positions of the group that is on screen.

    Args:
        source, target: regions between which the resume offsets are worked out.
        worked_out_at: Unix seconds.
        problem: why they could not be worked out; None when they are.
    """

    group: str
    source: str
    target: str
    worked_out_at: float
    positions: tuple[GroupPosition, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """Consumer group; groups of Sluice itself (`sluice.*`) are left out.

    Args:
        primary: primary region by its record; None: no record, or one that names no region, or not
            known.
        has_record: None: not known.
        members: regions in which it has members; regions that are not known about are in
            `unknown`.
        is_out_of_place: it has members outside of its primary region.
        is_active_twice: it is out of place, and has members in several regions.
        lag: records left, by region; a region whose lag is not known is left out.
        partitions: number of partitions with a committed offset in its primary region; None: not
            known.
        topics: on which it has committed in some region.
        copies_age_seconds: age of the oldest copy of its commits in another region; None: unknown.
        decided_at_ms, who, why, plan_id, generation: of the record of its primary region.
        previous: primary region before that record.
        type: classic, consumer, streams or share; None: not known.
    """

    group: str
    primary: str | None = None
    has_record: bool | None = None
    members: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    is_out_of_place: bool = False
    is_active_twice: bool = False
    lag: Mapping[str, int] = field(default_factory=dict)
    partitions: int | None = None
    topics: tuple[str, ...] = ()
    copies_age_seconds: float | None = None
    decided_at_ms: int | None = None
    who: str | None = None
    why: str | None = None
    plan_id: str | None = None
    generation: int | None = None
    previous: str | None = None
    type: str | None = None

    def elsewhere(self, region: str | None) -> tuple[str, ...]:
        """Returns the regions other than `region` in which the group has members.

        The result is empty when `region` is None: the group may then have members anywhere.
        """
        return tuple(it for it in self.members if region is not None and it != region)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupList:
    """Groups as the servers of one region know them.

    Args:
        silent_regions: regions whose members are not known.
        problems: failed reads, as texts for people.
    """

    region: str
    groups: tuple[GroupView, ...]
    silent_regions: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    schema_version: int = 2
