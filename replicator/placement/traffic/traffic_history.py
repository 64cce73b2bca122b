"""Traffic history: windows of traffic that a store keeps over restarts.

The caller adds the windows that it reads to its LookBack, and continues to measure. If a history
loses everything, only the knowledge of the last hours is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from balancer.demand.window import Window
from balancer.demand.window_columns import WindowColumns
from balancer.topic_partition import TopicPartition

INTERVAL_MS = 600_000
"""Ten minutes: the time that windows are summed up over."""
FINE_SECONDS = 4800
"""80 minutes: one hour, ten minutes before it whose sums may be missing, and the ten minutes in
progress."""
COARSE_SECONDS = 95_400
"""26.5 hours: a day, an hour, and the rest of the hour that a sum counts for (see LookBack)."""
MEANWHILE = "traffic is still measured, and forgotten with this process"
"""Effect of a store that does not answer, for the operator."""


class TrafficHistory(Protocol):
    """History of one source region.

    All methods may block; every method except `close` raises StoreUnreachable.
    """

    def close(self) -> None:
        """Closes the connections that are kept between calls."""
        ...

    def write(self, windows: Mapping[TopicPartition, Window]) -> None:
        """Stores the windows of one look. Writing the same windows again changes nothing."""
        ...

    def fine(self, begin_ms: int, end_ms: int) -> Iterator[WindowColumns]:
        """Yields the stored windows that end in (begin_ms, end_ms], look by look, sorted by end
        time.

        At least the last hour is available.
        """
        ...

    def coarse(self, begin_ms: int, end_ms: int) -> Iterator[WindowColumns]:
        """Yields ten-minute sums that end in (begin_ms, end_ms], sorted by end time.

        At least the last day is available, without the interval in progress. Each item has at most
        one sum of a partition.
        """
        ...


def interval_start(end_ms: int) -> int:
    """Returns the start of the ten-minute interval in which a window ends. Intervals include their
    end."""
    return (end_ms - 1) // INTERVAL_MS * INTERVAL_MS
