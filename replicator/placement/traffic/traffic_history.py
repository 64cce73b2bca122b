"""Interface of the stores that keep windows of traffic over restarts.

The caller adds what it reads to its LookBack, and continues to look. If a history loses everything,
only the knowledge of the last hours is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from balancer.demand.window import Window
from balancer.demand.window_columns import WindowColumns
from balancer.plan import TopicPartition


class TrafficHistory(Protocol):
    """Windows of one source region.

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
