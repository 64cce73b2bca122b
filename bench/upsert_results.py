"""Results file bench/results/upsert.json: one object per case, engine, system and query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import results
from bench.results import FILE, Figures

UPSERT_FILE = FILE.with_name("upsert.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsertResult(Figures):
    """Figures of upsert tables; None = has no meaning in the case, or was not measured.

    Args:
        engine: `clickhouse 18.16`, `chdb`, or `none` for what asks no store.
        query: name of the query of case `read`.
        rows_stored: of the table at the begin of the measurement, ended rows included.
        unsettled_events: ends of rows behind the newest settle point.
        seconds: `median` and `p95` of the repetitions of a query; `median` of one pass else.
        ratio_to_append: of the medians of `seconds`, in the same run.
        records_per_second: records that come in; keys of case `bootstrap`, ends of `settle`.
        cpu_seconds_per_million: of the same records, keys or ends.
        freshness_seconds: `p50` and `p99`.
        bytes_per_key: of the state of keys.
        bytes_per_row: of the store's tables on disk.
    """

    engine: str = "none"
    query: str | None = None
    versions_per_key: float | None = None
    rows_stored: int | None = None
    unsettled_events: int | None = None
    seconds: Mapping[str, float] | None = None
    ratio_to_append: float | None = None
    records_per_second: float | None = None
    cpu_seconds_per_million: float | None = None
    freshness_seconds: Mapping[str, float] | None = None
    bytes_per_key: float | None = None
    bytes_per_row: float | None = None
    peak_rss_mb: float | None = None

    @property
    def rate(self) -> float | None:
        return self.records_per_second


def keep(
    case: str,
    found: Sequence[UpsertResult],
    *,
    machine: Mapping[str, Any],
    run: Mapping[str, Any],
) -> None:
    """Replaces the stored results of a case.

    Args:
        run: how it was measured; the tables read `at`, `load_average` and `rounds` of it, and
            `impossible` with a reason per system that was left out.
    """
    results.keep(UPSERT_FILE, case, found, machine=machine, run=run)
