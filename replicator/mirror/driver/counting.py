"""Counting: adds up the totals of carriers, so that counters grow while carriers come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from replicator.mirror.offset_map.totals import NO_LATENCIES, CarrierTotals

FORGET_SECONDS = 3600.0
"""Totals expire long before: those of a carrier that was not found for so long never come back."""

NOTHING = CarrierTotals()


@dataclass(slots=True)
class RouteCounts:
    """Sums of a route since this process began to count."""

    restarts: int = 0
    losses: int = 0
    latencies: list[int] = field(default_factory=lambda: list(NO_LATENCIES))
    latency_seconds: float = 0.0
    records: Counter[tuple[str, int]] = field(default_factory=Counter)
    bytes: Counter[tuple[str, int]] = field(default_factory=Counter)


class Counting:
    """Sums over all carriers of one route that were ever found.

    A carrier's totals only grow, so their growth between two looks is added once. Counts made
    between looks are not lost when the carrier ends: its totals outlive it by minutes. Totals that
    are lower than those found before were read earlier, or come from a Redis that went back.
    """

    def __init__(self) -> None:
        self.counts = RouteCounts()
        self._found: dict[str, tuple[float, CarrierTotals]] = {}

    def begin(self, found: Mapping[str, CarrierTotals], now: float) -> None:
        """Notes totals of carriers that ran before the daemon: only their growth counts later."""
        self._found.update({carrier: (now, totals) for carrier, totals in found.items()})

    def add(self, found: Mapping[str, CarrierTotals], now: float) -> None:
        """Adds the growth of totals, which are given by carrier id as of the time `now`."""
        for carrier, totals in found.items():
            _, before = self._found.get(carrier, (now, NOTHING))
            highest = max(before, totals, key=_counted)
            self._grow(before, highest)
            self._found[carrier] = now, highest
        for carrier, (at, _) in list(self._found.items()):
            if now - at > FORGET_SECONDS:
                del self._found[carrier]

    def _grow(self, before: CarrierTotals, after: CarrierTotals) -> None:
        counts = self.counts
        counts.restarts += max(0, after.restarts - before.restarts)
        counts.losses += max(0, after.losses - before.losses)
        for at, (old, new) in enumerate(zip(before.latencies, after.latencies, strict=True)):
            counts.latencies[at] += max(0, new - old)
        counts.latency_seconds += max(0.0, after.latency_seconds - before.latency_seconds)
        carried = {
            (topic, number): (records, size) for topic, number, records, size in before.carried
        }
        for topic, number, records, size in after.carried:
            old_records, old_size = carried.get((topic, number), (0, 0))
            counts.records[topic, number] += max(0, records - old_records)
            counts.bytes[topic, number] += max(0, size - old_size)


def _counted(totals: CarrierTotals) -> tuple[float, ...]:
    """Returns sums of a carrier's totals; those read later are never lower."""
    return (
        totals.restarts,
        totals.losses,
        sum(totals.latencies),
        totals.latency_seconds,
        sum(records for _, _, records, _ in totals.carried),
        sum(size for *_, size in totals.carried),
    )
