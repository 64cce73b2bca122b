"""Counting: adds up the totals of carriers, so that counters grow while carriers come and go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from replicator.mirror.offset_map.totals import NO_LATENCIES, CarrierTotals
from replicator.runtime.growing_sums import GrowingSums


class _Count(NamedTuple):
    """A count of carriers; of records and bytes by partition, of latencies by bucket."""

    name: str
    topic: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class RouteCounts:
    """Sums of a route since this process began to count."""

    restarts: float
    losses: float
    latencies: list[float]
    latency_seconds: float
    records: Mapping[tuple[str, int], float]
    bytes: Mapping[tuple[str, int], float]


class Counting:
    """Sums over all carriers of one route that were ever found."""

    def __init__(self) -> None:
        self._growing: GrowingSums[_Count] = GrowingSums()

    def begin(self, found: Mapping[str, CarrierTotals], now: float) -> None:
        """Notes totals of carriers that ran before the daemon: only their growth counts later."""
        self._growing.note({carrier: _by_count(totals) for carrier, totals in found.items()}, now)

    def add(self, found: Mapping[str, CarrierTotals], now: float) -> None:
        """Adds the growth of totals, which are given by carrier id as of the time `now`."""
        self._growing.add({carrier: _by_count(totals) for carrier, totals in found.items()}, now)

    @property
    def counts(self) -> RouteCounts:
        """The sums of now."""
        buckets = range(len(NO_LATENCIES))
        return RouteCounts(
            restarts=self._sum(_Count("restarts")),
            losses=self._sum(_Count("losses")),
            latencies=[self._sum(_Count("latency", number=bucket)) for bucket in buckets],
            latency_seconds=self._sum(_Count("latency_seconds")),
            records=self._by_partition("records"),
            bytes=self._by_partition("bytes"),
        )

    def _sum(self, count: _Count) -> float:
        return self._growing.sums.get(count, 0)

    def _by_partition(self, name: str) -> dict[tuple[str, int], float]:
        sums = self._growing.sums
        return {(each.topic, each.number): sums[each] for each in sums if each.name == name}


def _by_count(totals: CarrierTotals) -> dict[_Count, float]:
    counts: dict[_Count, float] = {
        _Count("restarts"): totals.restarts,
        _Count("losses"): totals.losses,
        _Count("latency_seconds"): totals.latency_seconds,
    }
    for bucket, records in enumerate(totals.latencies):
        counts[_Count("latency", number=bucket)] = records
    for topic, partition, records, size in totals.carried:
        counts[_Count("records", topic, partition)] = records
        counts[_Count("bytes", topic, partition)] = size
    return counts
