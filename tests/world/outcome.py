"""Outcome of a history that was right."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Outcome:
    """Result of a history.

    Args:
        records: that were sent.
        seconds: of virtual time.
        steps: turns of the loop.
    """

    seed: int
    records: int
    seconds: float
    steps: int
    log: list[str] = field(default_factory=list)
