"""Windows of a source log's growth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

HOUR_MS = 3_600_000
"""Time for which every window is kept."""


class Rate(NamedTuple):
    """Growth of a source log per second; bytes as they are in the log, compressed."""

    bytes_per_second: float
    records_per_second: float


@dataclass(frozen=True, slots=True)
class Window:
    """Growth of a source log between two times, in milliseconds since 1970.

    Raises ValueError when the window has no length or the log has shrunk: do not store such a
    window.
    """

    begin_ms: int
    end_ms: int
    bytes: int
    records: int

    def __post_init__(self) -> None:
        if self.end_ms <= self.begin_ms:
            raise ValueError(f"a window from {self.begin_ms} to {self.end_ms} has no length")
        if self.bytes < 0 or self.records < 0:
            raise ValueError(f"a log that took in {self.bytes} bytes, {self.records} records")
