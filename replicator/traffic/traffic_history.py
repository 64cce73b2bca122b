"""Where windows of traffic are kept over restarts: the seam behind which any store may stand.

The caller adds what it reads to its LookBack, and then goes on looking. A history that lost
everything costs no more than the knowledge of the hours before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from balancer.demand.window import Window
from balancer.demand.window_columns import WindowColumns
from balancer.plan import TopicPartition


class TrafficHistory(Protocol):
    """The windows of one source region. All methods may block; each raises StoreUnreachable."""

    def write(self, windows: Mapping[TopicPartition, Window]) -> None:
        """Keeps the windows of one look. Writing the same ones again changes nothing."""
        ...

    def fine(self, begin_ms: int, end_ms: int) -> Iterator[WindowColumns]:
        """The windows as they were written, of the last hour at least: all that end after the one
        time and not after the other, a look at a time, by the time they end."""
        ...

    def coarse(self, begin_ms: int, end_ms: int) -> Iterator[WindowColumns]:
        """Their sums over ten minutes, of the last day at least, but for the ten minutes that are
        not over: one of each partition at a time, by the time they end."""
        ...
