"""Cause of an alert: something in a snapshot that an operator should look at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from tui.facts.alert import AlertSubject
from tui.facts.part import NOTICES

NAMED_MAX = 3
ROWS_MAX = 200
Source = tuple[str, str]
"""Server and subject of a question: a part of a snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause(AlertSubject):
    """Cause of one alert, as it is now.

    Args:
        since_ms: when it began; None: only who keeps looking knows.
        news_ms: when it last became worse, such as by one more parked partition, as all who look
            know it; None: they do not. An acknowledgement counts for what is older.
        sources: parts that tell of it; as long as one of them has no answer, nobody knows that it
            has ended.
        own_sources: parts of the servers that it says are silent.
    """

    since_ms: int | None = None
    news_ms: int | None = None
    sources: tuple[Source, ...] = ()
    own_sources: tuple[Source, ...] = ()

    def subject(self) -> dict[str, Any]:
        """Returns the fields that the alert has from its cause."""
        return {each.name: getattr(self, each.name) for each in fields(AlertSubject)}


def notices_in(region: str) -> Source:
    """Returns the part with the conditions and the cards of a region's daemons."""
    return f"{region} Redis", NOTICES


def some_of(names: Iterable[str]) -> str:
    """Returns the first names, and how many are left: "a, b, c and 5 more"."""
    found = list(names)
    rest = len(found) - NAMED_MAX
    return ", ".join(found[:NAMED_MAX]) + (f" and {rest:,} more" if rest > 0 else "")
