"""Output of the primary regions and members of consumer groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replicator.groups.membership.group_types import unmovable, unmovable_text
from replicator.groups.membership.out_of_place import OutOfPlace, out_of_place
from replicator.groups.membership.primary_region import PrimaryRegion
from tui.commands.text import NONE, joined, table
from tui.facts.group_locations import GroupLocations, PrimaryChange, PrimaryChanges
from tui.facts.moments import UNKNOWN, iso_text

SCHEMA_VERSION = 1
HEADS = ("GROUP", "LIVES IN", "SINCE", "WHO", "WHY", "MEMBERS IN", "STATE")
ANYWHERE = "any region"


def as_values(locations: GroupLocations) -> dict[str, Any]:
    """Returns plain values for JSON and YAML; unknown values are null."""
    found = out_of_place(locations.records or {}, locations.active)
    return {
        "schema_version": SCHEMA_VERSION,
        "region": locations.region,
        "silent_regions": list(locations.silent),
        "problems": list(locations.problems),
        "groups": [
            {
                **_record_values(group, (locations.records or {}).get(group)),
                "mode": _mode(locations, group),
                **({"type": locations.types[group]} if group in locations.types else {}),
                "active_in": list(locations.active_in(group)),
                "out_of_place_in": list(found[group].outside) if group in found else [],
                "is_active_twice": group in found and found[group].is_twice,
            }
            for group in locations.groups
        ],
    }


def as_text(locations: GroupLocations) -> str:
    """Formats a table for people, with what is not known below it."""
    found = out_of_place(locations.records or {}, locations.active)
    parts = [table(HEADS, [_row(locations, group, found.get(group)) for group in locations.groups])]
    if not locations.groups:
        parts = ["no groups"]
    if lines := joined(remarks(locations)):
        parts.append(lines)
    return "\n\n".join(parts)


def remarks(locations: GroupLocations) -> Iterator[str]:
    """Yields a line about the silent regions, and one for each problem."""
    if locations.silent:
        where = ", ".join(locations.silent)
        yield f"not known: which groups have members in {where}"
    shown = {group: locations.types.get(group, "classic") for group in locations.groups}
    if left := unmovable(shown):
        yield f"{unmovable_text(left)}: {', '.join(sorted(left))}"
    for problem in locations.problems:
        yield f"problem: {problem}"


def changes_values(changes: PrimaryChanges) -> dict[str, Any]:
    """Returns the results as plain values for JSON and YAML."""
    return {
        "schema_version": SCHEMA_VERSION,
        "offsets_moved": False,
        "problems": list(changes.problems),
        "groups": [
            {**_record_values(it.group, it.record), "is_new": it.is_new} for it in changes.changes
        ],
    }


def changes_text(changes: PrimaryChanges) -> str:
    """Formats the results as a table for people, with the problems below it."""
    rows = [
        (it.group, _region(it.record), _before(it), "recorded" if it.is_new else "as it was")
        for it in changes.changes
    ]
    parts = [
        table(("GROUP", "LIVES IN", "BEFORE", "RESULT"), rows),
        "No offsets were moved: a group goes on wherever its own commits stand. `sluice switchover`"
        "\nand `sluice failover` move both.",
        *(joined([f"problem: {problem}"]) for problem in changes.problems),
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


def _mode(locations: GroupLocations, group: str) -> str | None:
    if locations.records is None:
        return None
    record = locations.records.get(group)
    return "active/passive" if record and record.region else "active/active"


def _row(locations: GroupLocations, group: str, found: OutOfPlace | None) -> tuple[Any, ...]:
    members = ", ".join(locations.active_in(group)) or ("?" if locations.silent else NONE)
    if locations.records is None:
        return group, None, None, None, None, members, None
    record = locations.records.get(group)
    if record is None:
        return group, ANYWHERE, NONE, NONE, NONE, members, NONE
    state = NONE
    if record.region:
        state = "in place"
    if found:
        state = "ACTIVE TWICE" if found.is_twice else "OUT OF PLACE"
    since = _time(record.at_ms)
    return group, _region(record), since, record.who, record.why, members, state


def _region(record: PrimaryRegion | None) -> str:
    return record.region or ANYWHERE if record else ANYWHERE


def _before(change: PrimaryChange) -> str:
    record = change.record
    return (record.previous or ANYWHERE) if record and change.is_new else NONE


def _time(at_ms: int) -> str | None:
    text = iso_text(at_ms)
    return None if text == UNKNOWN else text
