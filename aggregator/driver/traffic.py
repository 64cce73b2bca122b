"""Traffic of partitions, by how far their logs grew between two looks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aggregator.driver.feed_posting import FeedCluster
from balancer.plan import TopicPartition

KEPT = 0.7
"""Part of the traffic known before that counts on at each look."""


class Traffic:
    """Records per second of every partition, smoothed."""

    def __init__(self) -> None:
        self._ends: dict[FeedCluster, tuple[float, Mapping[TopicPartition, int]]] = {}
        self._rates: dict[FeedCluster, dict[TopicPartition, float]] = {}

    def look(self, each: FeedCluster, ends: Mapping[TopicPartition, int], now: float) -> None:
        """Notes log ends at a time in seconds."""
        before = self._ends.get(each)
        self._ends[each] = now, ends
        if before is None or now <= before[0]:
            return
        rates = self._rates.setdefault(each, {})
        for partition, end in ends.items():
            if partition in before[1]:
                rate = max(0, end - before[1][partition]) / (now - before[0])
                known = rates.get(partition, rate)
                rates[partition] = KEPT * known + (1 - KEPT) * rate

    def weights(
        self, wanted: Iterable[FeedCluster]
    ) -> dict[FeedCluster, Mapping[TopicPartition, float]]:
        """Returns the rates of the partitions that were seen twice."""
        return {each: self._rates.get(each, {}) for each in wanted}
