"""Results file bench/results/clickhouse.json: one object per case and system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.results import FILE as REPLICATE_FILE
from bench.results import rounded

FILE = REPLICATE_FILE.with_name("clickhouse.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedResult:
    """Figures of one case and system; None = not measured. Rates in rows, memory in MB (10^6)."""

    case: str
    system: str
    rows_per_second: float | None = None
    cpu_seconds_per_million: float | None = None
    brokers_cpu_seconds_per_million: float | None = None
    latency_ms: Mapping[str, float] | None = None
    peak_rss_mb: float | None = None
    duplicates: int | None = None
    lost: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {name: rounded(value) for name, value in asdict(self).items()}


def median(rounds: Sequence[FeedResult]) -> FeedResult:
    """Returns the round with the median rate; of an even number, the faster one in the middle."""
    return sorted(rounds, key=lambda each: each.rows_per_second or 0.0)[len(rounds) // 2]
