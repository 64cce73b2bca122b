"""Daemon card: which daemon runs where, since when, and what it does."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonCard:
    """Card of one running daemon.

    Args:
        role: as its command: replicate, balance, offsets, aggregate, verify.
        version: of Sluice.
        since_ms: Unix time in milliseconds at which it started.
        doing: for people.
    """

    role: str
    region: str
    version: str
    host: str
    pid: int
    since_ms: int
    doing: str = ""

    @property
    def who(self) -> str:
        """Name of the process among all of its region."""
        return f"{self.role} {self.region} {self.host}:{self.pid}"

    def to_json(self) -> str:
        """Returns the card as compact JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Parses a card; fields of later versions are left out. Raises ValueError."""
        known = {each.name for each in fields(cls)}
        found: Any = json.loads(text)
        try:
            return cls(**{name: it for name, it in found.items() if name in known})
        except (TypeError, AttributeError) as error:
            raise ValueError(f"daemon card of another form: {error}") from error
