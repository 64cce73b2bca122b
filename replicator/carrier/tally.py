"""Tally: what one carrier has counted since it began, over all of its stints."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from balancer.plan import TopicPartition
from replicator.offsets.totals import NO_LATENCIES, CarrierTotals, bucket


class Tally:
    """Counts of a carrier; nothing in it is ever taken back."""

    def __init__(self) -> None:
        self.id = uuid.uuid4().hex
        """Of this carrier alone: the next one under its number has another."""
        self._restarts = self._losses = 0
        self._latencies = list(NO_LATENCIES)
        self._latency_seconds = 0.0

    def restarted(self) -> None:
        """The carrier begins anew from the ledger."""
        self._restarts += 1

    def lost(self, partitions: Iterable[TopicPartition]) -> None:
        """Partitions were stopped: records of them are lost or in doubt."""
        self._losses += len(set(partitions))

    def landed(self, records: int, seconds: float) -> None:
        """Records were acknowledged so long after they could first be read."""
        seconds = max(0.0, seconds)
        self._latencies[bucket(seconds)] += records
        self._latency_seconds += records * seconds

    def totals(self, carried: Mapping[TopicPartition, tuple[int, int]]) -> CarrierTotals:
        """All counts.

        Args:
            carried: records and bytes by partition.
        """
        return CarrierTotals(
            self._restarts,
            self._losses,
            tuple(self._latencies),
            self._latency_seconds,
            tuple((*place, *counts) for place, counts in sorted(carried.items())),
        )
