"""Results files bench/results/{replicate,clickhouse,s3}.json: one object per case and system.

A case is always measured for all systems in one run; running a case again replaces it as a whole.
"""

from __future__ import annotations

import json
import statistics
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from deploy.lab.kafka import CHECKOUT

FILE = CHECKOUT / "bench" / "results" / "replicate.json"
FEED_FILE = FILE.with_name("clickhouse.json")
OBJECT_FILE = FILE.with_name("s3.json")
KILLS_ONLY = ("duplicates_uncommitted", "duplicates_committed", "lost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures(ABC):
    """Figures of one case and system; None = not measured. Memory in MB (10^6)."""

    case: str
    system: str

    @property
    @abstractmethod
    def rate(self) -> float | None:
        """Records or rows per second."""

    def to_json(self) -> dict[str, Any]:
        return {name: rounded(value) for name, value in asdict(self).items()}

    @classmethod
    def median(cls, rounds: Sequence[Self]) -> Self:
        """Returns the round with the median rate; of an even number, the faster in the middle."""
        return sorted(rounds, key=lambda each: each.rate or 0.0)[len(rounds) // 2]


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorResult(Figures):
    """Figures of mirroring."""

    records_per_second: float | None = None
    cpu_seconds_per_million: float | None = None
    brokers_cpu_seconds_per_million: float | None = None
    latency_ms: Mapping[str, float] | None = None
    peak_rss_mb: float | None = None
    duplicates_uncommitted: int | None = None
    duplicates_committed: int | None = None
    lost: int | None = None

    @property
    def rate(self) -> float | None:
        return self.records_per_second

    def to_json(self) -> dict[str, Any]:
        left_out = () if self.case == "kills" else KILLS_ONLY
        return {
            name: rounded(value) for name, value in asdict(self).items() if name not in left_out
        }

    @classmethod
    def median(cls, rounds: Sequence[Self]) -> Self:
        """Returns the median of each figure over the rounds of one case and system."""
        first = rounds[0]
        figures = [asdict(each) for each in rounds]

        def middle(name: str) -> Any:
            values = [each[name] for each in figures if each[name] is not None]
            return statistics.median(values) if values else None

        latencies = [each.latency_ms for each in rounds if each.latency_ms is not None]
        latency_ms = (
            {name: statistics.median(each[name] for each in latencies) for name in latencies[0]}
            if latencies
            else None
        )
        return cls(
            case=first.case,
            system=first.system,
            records_per_second=middle("records_per_second"),
            cpu_seconds_per_million=middle("cpu_seconds_per_million"),
            brokers_cpu_seconds_per_million=middle("brokers_cpu_seconds_per_million"),
            latency_ms=latency_ms,
            peak_rss_mb=middle("peak_rss_mb"),
            duplicates_uncommitted=first.duplicates_uncommitted,
            duplicates_committed=first.duplicates_committed,
            lost=first.lost,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedResult(Figures):
    """Figures of loading into tables."""

    rows_per_second: float | None = None
    cpu_seconds_per_million: float | None = None
    brokers_cpu_seconds_per_million: float | None = None
    latency_ms: Mapping[str, float] | None = None
    peak_rss_mb: float | None = None
    duplicates: int | None = None
    lost: int | None = None

    @property
    def rate(self) -> float | None:
        return self.rows_per_second


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectResult(Figures):
    """Figures of writing objects."""

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

    @property
    def rate(self) -> float | None:
        return self.records_per_second


def keep(
    file: Path,
    case: str,
    results: Sequence[Figures],
    *,
    machine: Mapping[str, Any],
    run: Mapping[str, Any],
) -> None:
    """Replaces the stored results of the case; `run` describes how it was measured."""
    old = json.loads(file.read_text()) if file.exists() else {"results": [], "runs": {}}
    others = [each for each in old["results"] if each["case"] != case]
    found = {
        "machine": machine,
        "results": [*others, *(each.to_json() for each in results)],
        "runs": {**old["runs"], case: run},
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found, indent=2) + "\n")


def rounded(value: Any) -> Any:
    """Rounds floats to four significant digits, which is more than the precision of the figures."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    return value
