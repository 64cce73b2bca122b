"""Counts of one carrier since it began, over all of its sessions."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from balancer.topic_partition import TopicPartition
from replicator.mirror.offset_map.totals import NO_LATENCIES, CarrierTotals, bucket


class CarrierCounts:
    """Counts of a carrier; they never decrease."""

    def __init__(self) -> None:
        self.id = uuid.uuid4().hex
        """Unique id of this carrier; its successor under the same number has another."""
        self._restarts = self._losses = 0
        self._latencies = list(NO_LATENCIES)
        self._latency_seconds = 0.0

    def restarted(self) -> None:
        """Counts a new session after a failed one."""
        self._restarts += 1

    def lost(self, partitions: Iterable[TopicPartition]) -> None:
        """Counts partitions whose entries were parked because records are lost or in doubt."""
        self._losses += len(set(partitions))

    def landed(self, records: int, seconds: float) -> None:
        """Counts acknowledged records and their latency.

        Args:
            seconds: from readable at the source to acknowledged by the target.
        """
        seconds = max(0.0, seconds)
        self._latencies[bucket(seconds)] += records
        self._latency_seconds += records * seconds

    def totals(self, carried: Mapping[TopicPartition, tuple[int, int]]) -> CarrierTotals:
        """Returns all counts.

        Args:
            carried: records and bytes by partition.
        """
        return CarrierTotals(
            self._restarts,
            self._losses,
            tuple(self._latencies),
            self._latency_seconds,
            tuple((*partition, *counts) for partition, counts in sorted(carried.items())),
        )
