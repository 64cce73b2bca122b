"""Which region a consumer group lives in: an operator's decision, with who, when and why.

A group with such a record is active/passive: it consumes in its primary region, and its offsets in
the others are kept in step. A group without one is active/active, and so is one whose record names
no region any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

VERSION = 1


class UnreadableRecord(Exception):
    """Not a record of ours, or one of a later version of Sluice. Leave it out."""


@dataclass(frozen=True, slots=True)
class PrimaryRegion:
    """One decision about one group.

    Args:
        region: None: it lives in no region in particular (any more).
        generation: 1 for a group's first decision, and one more with each that follows.
        at_ms: when it was decided, since 1970.
        plan_id: of the failover that it was part of.
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
    """The record that overrules the one `before`, None when the group has none."""
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
    """Which of two records about a group counts, whatever the order they are heard in."""
    return max(one, other, key=_rank)


def joined(records: Iterable[PrimaryRegion]) -> dict[str, PrimaryRegion]:
    """By group, the record that counts."""
    found: dict[str, PrimaryRegion] = {}
    for record in records:
        known = found.get(record.group)
        found[record.group] = newer(known, record) if known else record
    return found


def regions(records: Mapping[str, PrimaryRegion]) -> dict[str, str]:
    """By group, the region it lives in; one that lives in none in particular is left out."""
    return {group: it.region for group, it in records.items() if it.region is not None}


def encode(record: PrimaryRegion) -> str:
    """Compact JSON. Whatever the version, all that the join compares stays in it."""
    return json.dumps({"sluice": VERSION, **asdict(record)}, separators=(",", ":"))


def encode_key(record: PrimaryRegion) -> str:
    """The record's name in a compacted log: each decision has its own.

    By the group alone, the log would keep what was written last, which after two decisions at once
    need not be the one that counts.
    """
    fields = record.group, record.generation, record.at_ms, record.region
    return json.dumps(fields, separators=(",", ":"))


def decode(text: str | bytes) -> PrimaryRegion:
    """Raises UnreadableRecord."""
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
    # The text last: two people may decide alike in the same millisecond.
    return record.generation, record.at_ms, record.region or "", encode(record)
