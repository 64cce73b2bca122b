"""Past of a route: an earlier lag of its partitions, their last progress, and an hour of totals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from balancer.topic_partition import TopicPartition
from replicator.mirror.offset_map.reports import PartitionReport

Place = tuple[str, int]
"""Topic and number of a partition."""


@dataclass(frozen=True, slots=True)
class Past:
    """Past of one route, as earlier snapshots saw it. Times are Unix seconds.

    Args:
        lag_at: time of the earlier lag, about a minute ago; None: none is known.
        lags: lag in records at that time, of the partitions whose lag was known.
        still: partitions with lag: the position they have not left, and since when.
        heard: last report of each partition, however old it is.
        lag_history: lag in records of the last hour, one value a minute, the oldest first.
        rate_history: records per second, likewise.
    """

    lag_at: float | None = None
    lags: Mapping[Place, int] = field(default_factory=dict)
    still: Mapping[Place, tuple[int, float]] = field(default_factory=dict)
    heard: Mapping[TopicPartition, PartitionReport] = field(default_factory=dict)
    lag_history: tuple[float | None, ...] = ()
    rate_history: tuple[float | None, ...] = ()


NO_PAST = Past()
