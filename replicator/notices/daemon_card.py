"""Daemon card: which daemon runs where, since when, and what it does."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter


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

    @staticmethod
    def from_json(text: str | bytes) -> DaemonCard:
        """Parses it; fields of later versions are left out. Raises ValueError."""
        return PARSER.validate_json(text)


PARSER = TypeAdapter(DaemonCard)
