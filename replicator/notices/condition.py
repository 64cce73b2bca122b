"""Condition: a reason why something is not carried or loaded, for as long as it holds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import NamedTuple, Self

from pydantic import TypeAdapter


class Kind(StrEnum):
    """Kinds of conditions; docs/operating.md says what each means."""

    SOURCE_SILENT = "source-silent"
    TOPICS_UNKNOWN = "topics-unknown"
    TOPIC_REFUSED = "topic-refused"
    NOT_ADOPTED = "not-adopted"
    PAUSED = "paused"
    CARRIER_WAITS = "carrier-waits"
    LOADER_WAITS = "loader-waits"
    CARRIER_FAILED = "carrier-failed"
    LOADER_FAILED = "loader-failed"
    FEED_REFUSED = "feed-refused"
    STORE_UNCONDITIONAL = "store-unconditional"
    TABLE_REFUSED = "table-refused"
    COLUMNS_NOT_LOADED = "columns-not-loaded"
    WAITING = "waiting"
    REFUSED = "refused"
    PARKED = "parked"
    UPSERT_FAILED = "upsert-failed"
    UPSERT_LANE_STOPPED = "upsert-lane-stopped"
    UPSERT_ENDS_LOST = "upsert-ends-lost"
    UPSERT_NOT_DROPPED = "upsert-not-dropped"
    SETTLING_FAILS = "settling-fails"


class Subject(NamedTuple):
    """Subject of a condition; a field that is empty or None stands for all of them."""

    route: str = ""
    feed: str = ""
    cluster: str = ""
    topic: str = ""
    partition: int | None = None
    carrier: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Condition that a daemon or a carrier has found, and that still holds.

    Args:
        kind: a Kind, or one of a later version.
        who: the daemon or carrier that found it.
        since_ms: Unix time in milliseconds at which it was first found.
    """

    kind: str
    who: str
    text: str
    since_ms: int
    route: str = ""
    feed: str = ""
    cluster: str = ""
    topic: str = ""
    partition: int | None = None
    carrier: int | None = None

    @classmethod
    def of(cls, kind: Kind, subject: Subject, text: str, who: str, since_ms: int) -> Self:
        return cls(kind=kind.value, who=who, text=text, since_ms=since_ms, **subject._asdict())

    @property
    def subject(self) -> Subject:
        return Subject(*(getattr(self, name) for name in Subject._fields))


CONDITIONS = TypeAdapter(list[Condition])


def to_json(conditions: Iterable[Condition]) -> str:
    """Returns conditions as compact JSON."""
    return json.dumps([asdict(each) for each in conditions], separators=(",", ":"))


def from_json(text: str | bytes) -> list[Condition]:
    """Parses conditions; fields of later versions are left out. Raises ValueError."""
    return CONDITIONS.validate_json(text)
