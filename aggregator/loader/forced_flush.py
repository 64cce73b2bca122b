"""Forced flush: the moments at which all buffers of a partition are loaded at once. No I/O.

While a flush lasts, records behind its end wait. So it is given up where a table that cannot be
loaded would make the others wait with it, and begins anew once that table's block is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aggregator.loader.partition_progress import PartitionProgress

STANDSTILL_SECONDS = 5.0
"""Time without a loaded block after which a flush is given up."""


@dataclass(slots=True)
class ForcedFlush:
    """Schedule of the forced flushes of one partition.

    Args:
        ended_at: time by the clock of `keep` at which the last one ended.
    """

    ended_at: float
    _moved_at: float = field(init=False, default=0.0)
    _loads: int = field(init=False, default=0)
    _hindered_at: int | None = field(init=False, default=None)
    """Offset of the intent when a flush was given up."""

    def keep(
        self, progress: PartitionProgress[Any], now: float, interval: float, *, is_stopping: bool
    ) -> None:
        """Begins the flush that is due, and gives up one that stands still.

        Args:
            interval: seconds between two flushes.
            is_stopping: nothing more is read, so that nobody has to wait for the flush.
        """
        if progress.is_flushing:
            self._watch(progress, now, is_stopping)
        elif is_stopping or (
            now - self.ended_at >= interval and progress.offset != self._hindered_at
        ):
            progress.begin_flush()
            self._moved_at, self._loads = now, progress.loads

    def _watch(self, progress: PartitionProgress[Any], now: float, is_stopping: bool) -> None:
        if is_stopping or progress.is_flushed or progress.loads != self._loads:
            self._moved_at, self._loads = now, progress.loads
        elif now - self._moved_at > STANDSTILL_SECONDS:
            progress.give_up_flush()
            self.ended_at, self._hindered_at = now, progress.offset
