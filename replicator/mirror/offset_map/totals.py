"""Totals of one carrier since it started, for metrics: records, bytes, restarts, losses, latencies.

Totals only grow while the carrier lives. A reader adds up the totals of many carriers.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from dataclasses import astuple, dataclass

LATENCY_BOUNDS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
    *(30.0, 60.0, 300.0, 900.0, 3600.0),
)
"""Upper bounds of the histogram's buckets, in seconds; a last bucket has all above."""

NO_LATENCIES = (0,) * (len(LATENCY_BOUNDS) + 1)


@dataclass(frozen=True, slots=True)
class CarrierTotals:
    """Totals of a carrier.

    Args:
        restarts: how often the carrier began anew from the ledger.
        losses: how often it stopped a partition because records are lost or in doubt.
        latencies: records by the bucket of their latency, from readable at the source to
            acknowledged by the target.
        latency_seconds: sum of the latencies of all these records.
        carried: (topic, partition, records, bytes) of each partition.
    """

    restarts: int = 0
    losses: int = 0
    latencies: tuple[int, ...] = NO_LATENCIES
    latency_seconds: float = 0.0
    carried: tuple[tuple[str, int, int, int], ...] = ()


def bucket(seconds: float) -> int:
    """Returns the index of a latency's bucket."""
    return bisect_left(LATENCY_BOUNDS, seconds)


def packed(totals: CarrierTotals) -> str:
    """Returns totals as JSON."""
    return json.dumps(astuple(totals), separators=(",", ":"))


def unpacked(text: str | bytes) -> CarrierTotals:
    """Returns totals from JSON; raises ValueError when they have another form."""
    try:
        restarts, losses, latencies, seconds, carried = json.loads(text)
        if len(latencies) != len(NO_LATENCIES):
            raise TypeError(f"{len(latencies)} buckets")
        rows = tuple((str(t), int(p), int(records), int(size)) for t, p, records, size in carried)
        return CarrierTotals(int(restarts), int(losses), tuple(latencies), float(seconds), rows)
    except TypeError as error:
        raise ValueError(f"totals of another form: {error}") from error
