"""Primary regions and members of consumer groups, as known in one region, and their output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from replicator.groups.membership.out_of_place import OutOfPlace, out_of_place
from replicator.groups.membership.primary_region import PrimaryRegion
from tui.cli.output import joined, table

SCHEMA_VERSION = 1
HEADS = ("GROUP", "LIVES IN", "SINCE", "WHO", "WHY", "MEMBERS IN", "STATE")
ANYWHERE = "any region"


@dataclass(frozen=True, slots=True)
class GroupPlaces:
    """Result of one probe.

    Args:
        region: region whose servers were asked.
        records: record of the primary region, by group; None when not known.
        active: groups with members, by region; a region that is not known about is left out.
        silent: regions left out of `active`.
        groups: names of all known groups, sorted.
        problems: failed reads, as texts for people.
    """

    region: str
    records: Mapping[str, PrimaryRegion] | None
    active: Mapping[str, frozenset[str]]
    silent: tuple[str, ...]
    groups: tuple[str, ...]
    problems: tuple[str, ...] = ()

    def only(self, groups: Iterable[str]) -> GroupPlaces:
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
class Decision:
    """Result of `sluice groups set-primary` for one group.

    Args:
        record: record that counts now; None when the group has none and needs none.
        is_new: True when this command made the record.
    """

    group: str
    record: PrimaryRegion | None
    is_new: bool


@dataclass(frozen=True, slots=True)
class Decisions:
    """Results for all groups that a command names."""

    decisions: tuple[Decision, ...]
    problems: tuple[str, ...] = ()


def as_values(places: GroupPlaces) -> dict[str, Any]:
    """Returns plain values for JSON and YAML; unknown values are null."""
    found = out_of_place(places.records or {}, places.active)
    return {
        "schema_version": SCHEMA_VERSION,
        "region": places.region,
        "silent_regions": list(places.silent),
        "problems": list(places.problems),
        "groups": [
            {
                **_record_values(group, (places.records or {}).get(group)),
                "mode": _mode(places, group),
                "active_in": list(places.active_in(group)),
                "out_of_place_in": list(found[group].outside) if group in found else [],
                "is_active_twice": group in found and found[group].is_twice,
            }
            for group in places.groups
        ],
    }


def as_text(places: GroupPlaces) -> str:
    """Formats a table for people, with what is not known below it."""
    found = out_of_place(places.records or {}, places.active)
    parts = [table(HEADS, [_row(places, group, found.get(group)) for group in places.groups])]
    if not places.groups:
        parts = ["no groups"]
    if remarks := joined(remarks_on(places)):
        parts.append(remarks)
    return "\n\n".join(parts)


def remarks_on(places: GroupPlaces) -> Iterator[str]:
    """Yields a line about the silent regions, and one for each problem."""
    if places.silent:
        where = ", ".join(places.silent)
        yield f"not known: which groups have members in {where}"
    for problem in places.problems:
        yield f"problem: {problem}"


def decisions_values(decisions: Decisions) -> dict[str, Any]:
    """Returns the results as plain values for JSON and YAML."""
    return {
        "schema_version": SCHEMA_VERSION,
        "offsets_moved": False,
        "problems": list(decisions.problems),
        "groups": [
            {**_record_values(it.group, it.record), "is_new": it.is_new}
            for it in decisions.decisions
        ],
    }


def decisions_text(decisions: Decisions) -> str:
    """Formats the results as a table for people, with the problems below it."""
    rows = [
        (it.group, _region(it.record), _before(it), "recorded" if it.is_new else "as it was")
        for it in decisions.decisions
    ]
    parts = [
        table(("GROUP", "LIVES IN", "BEFORE", "RESULT"), rows),
        "No offsets were moved: a group goes on wherever its own commits stand. `sluice switchover`"
        "\nand `sluice failover` move both.",
        *(joined([f"problem: {problem}"]) for problem in decisions.problems),
    ]
    return "\n\n".join(parts)


def _record_values(group: str, record: PrimaryRegion | None) -> dict[str, Any]:
    return {
        "group": group,
        "primary_region": record.region if record else None,
        "generation": record.generation if record else None,
        "decided_at": _time(record.at_ms) if record else None,
        "who": record.who if record else None,
        "why": record.why if record else None,
        "plan_id": record.plan_id if record else None,
        "previous_region": record.previous if record else None,
    }


def _mode(places: GroupPlaces, group: str) -> str | None:
    if places.records is None:
        return None
    record = places.records.get(group)
    return "active/passive" if record and record.region else "active/active"


def _row(places: GroupPlaces, group: str, found: OutOfPlace | None) -> tuple[Any, ...]:
    members = ", ".join(places.active_in(group)) or ("?" if places.silent else "-")
    if places.records is None:
        return group, None, None, None, None, members, None
    record = places.records.get(group)
    if record is None:
        return group, ANYWHERE, "-", "-", "-", members, "-"
    state = "-"
    if record.region:
        state = "in place"
    if found:
        state = "ACTIVE TWICE" if found.is_twice else "OUT OF PLACE"
    since = _time(record.at_ms)
    return group, _region(record), since, record.who, record.why, members, state


def _region(record: PrimaryRegion | None) -> str:
    return record.region or ANYWHERE if record else ANYWHERE


def _before(decision: Decision) -> str:
    record = decision.record
    return (record.previous or ANYWHERE) if record and decision.is_new else "-"


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")
