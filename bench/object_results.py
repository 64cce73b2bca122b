"""Results file bench/results/s3.json: one object per case and system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.results import FILE as REPLICATE_FILE
from bench.results import rounded

FILE = REPLICATE_FILE.with_name("s3.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectResult:
    """Figures of one case and system; None = not measured. Memory in MB (10^6)."""

    case: str
    system: str
    records_per_second: float | None = None
    cpu_seconds_per_million: float | None = None
    store_cpu_seconds_per_million: float | None = None
    peak_rss_mb: float | None = None
    objects: int | None = None
    objects_least: int | None = None
    requests_per_object: float | None = None
    visible_seconds: Mapping[str, float] | None = None
    duplicates: int | None = None
    lost: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {name: rounded(value) for name, value in asdict(self).items()}


def median(rounds: Sequence[ObjectResult]) -> ObjectResult:
    """Returns the round with the median rate; of an even number, the faster one in the middle."""
    return sorted(rounds, key=lambda each: each.records_per_second or 0.0)[len(rounds) // 2]
