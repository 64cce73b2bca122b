"""Condition: a reason why something is not carried or loaded, for as long as it holds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import NamedTuple, Self

from pydantic import TypeAdapter


class Subject(NamedTuple):
    """Subject of a condition; a field that is empty or None stands for all of them."""

    route: str = ""
    feed: str = ""
    cluster: str = ""
    topic: str = ""
    partition: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Condition that a daemon or a carrier has found, and that still holds.

    Args:
        kind: as the event of the log that tells of it, such as source-silent.
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

    @classmethod
    def of(cls, kind: str, subject: Subject, text: str, who: str, since_ms: int) -> Self:
        return cls(kind=kind, who=who, text=text, since_ms=since_ms, **subject._asdict())

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
