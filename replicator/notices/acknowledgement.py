"""Acknowledgement of an alert by an operator: who has seen it, why, and how long it is silent."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter

HOLDS_MS = 7 * 24 * 3600 * 1000
"""Time after which an acknowledgement ends, if its alert has not ended before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """Acknowledgement of one alert by an operator.

    Args:
        key: of the alert.
        who: the operator, as user@host.
        at_ms: Unix time in milliseconds.
        until_ms: end of a silence; None: an acknowledgement, which ends with the alert.
        extent: number of groups or partitions up to which it counts; None: any.
    """

    key: str
    who: str
    why: str
    at_ms: int
    until_ms: int | None = None
    extent: int | None = None

    def is_over(self, now_ms: int) -> bool:
        """Returns True once the alert counts as open again."""
        ends_ms = self.at_ms + HOLDS_MS if self.until_ms is None else self.until_ms
        return ends_ms <= now_ms

    def to_json(self) -> str:
        """Returns the acknowledgement as compact JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @staticmethod
    def from_json(text: str | bytes) -> Acknowledgement:
        """Parses it; fields of later versions are left out. Raises ValueError."""
        return PARSER.validate_json(text)


PARSER = TypeAdapter(Acknowledgement)
