"""Primary region of a consumer group: an operator's decision, with who, when and why.

A group with such a record is active/passive: it consumes in its primary region, and its offsets in
the other regions are kept in step. A group without a record is active/active, and so is a group
whose record no longer names a region.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

VERSION = 1


class UnreadableRecord(Exception):
    """No record of ours, or one of a later version of Sluice. Leave it out."""


@dataclass(frozen=True, slots=True)
class PrimaryRegion:
    """Decision about one group.

    Args:
        region: where the group lives; None: in no particular region (any more).
        generation: 1 for a group's first decision, and one more with each that follows.
        at_ms: when it was decided, in milliseconds since 1970.
        who: the operator who decided.
        why: the operator's reason.
        plan_id: the failover plan that the decision was part of.
        previous: the region before.
    """

    group: str
    region: str | None
    generation: int
    at_ms: int
    who: str
    why: str
    plan_id: str | None = None
    previous: str | None = None

    def __str__(self) -> str:
        return f"{self.group!r} lives in {self.region or 'no region in particular'}"


def decided(
    before: PrimaryRegion | None,
    group: str,
    region: str | None,
    *,
    at_ms: int,
    who: str,
    why: str,
    plan_id: str | None = None,
) -> PrimaryRegion:
    """Returns the record that overrules `before`, which is None when the group has none."""
    return PrimaryRegion(
        group=group,
        region=region,
        generation=before.generation + 1 if before else 1,
        at_ms=at_ms,
        who=who,
        why=why,
        plan_id=plan_id,
        previous=before.region if before else None,
    )


def newer(one: PrimaryRegion, other: PrimaryRegion) -> PrimaryRegion:
    """Returns the record that counts of two about one group, in any order."""
    return max(one, other, key=_rank)


def joined(records: Iterable[PrimaryRegion]) -> dict[str, PrimaryRegion]:
    """Returns the record that counts, by group."""
    found: dict[str, PrimaryRegion] = {}
    for record in records:
        known = found.get(record.group)
        # Several copies of one record are the rule; ranking them would take longer.
        if known != record:
            found[record.group] = newer(known, record) if known else record
    return found


def regions(records: Mapping[str, PrimaryRegion]) -> dict[str, str]:
    """Returns the region of each group; a group that lives in no particular region is left out."""
    return {group: it.region for group, it in records.items() if it.region is not None}


def encode(record: PrimaryRegion) -> str:
    """Returns compact JSON. In every version it has all fields that the join compares."""
    return json.dumps({"sluice": VERSION, **asdict(record)}, separators=(",", ":"))


def encode_key(record: PrimaryRegion) -> str:
    """Returns the record's key in a compacted log: each decision has its own.

    With the group alone as key, the log would keep the record written last. After two decisions at
    the same time that need not be the one that counts.
    """
    fields = record.group, record.generation, record.at_ms, record.region
    return json.dumps(fields, separators=(",", ":"))


def decode(text: str | bytes) -> PrimaryRegion:
    """Returns the record of a text. Raises UnreadableRecord."""
    try:
        fields = json.loads(text)
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or "sluice" not in fields:
        raise UnreadableRecord("it is no record of a primary region")
    version = fields.pop("sluice")
    if type(version) is not int or version != VERSION:
        raise UnreadableRecord(f"it is of format {version!r}; this Sluice reads {VERSION}")
    return _checked(fields)


def _checked(fields: Mapping[str, Any]) -> PrimaryRegion:
    texts: dict[str, Any] = {name: fields.get(name) for name in ("group", "who", "why")}
    numbers: dict[str, Any] = {name: fields.get(name) for name in ("generation", "at_ms")}
    perhaps: dict[str, Any] = {name: fields.get(name) for name in ("region", "plan_id", "previous")}
    is_sound = (
        all(isinstance(text, str) for text in texts.values())
        and all(type(number) is int and 0 <= number < 2**53 for number in numbers.values())
        and all(text is None or isinstance(text, str) for text in perhaps.values())
    )
    if not is_sound:
        raise UnreadableRecord("its fields are not those of a primary region")
    return PrimaryRegion(**texts, **numbers, **perhaps)


def _rank(record: PrimaryRegion) -> tuple[int, int, str, str]:
    # The text comes last: two people may decide alike in the same millisecond.
    return record.generation, record.at_ms, record.region or "", encode(record)
