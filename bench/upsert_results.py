"""Results files bench/results/upsert.json, one object per case, engine, system and query, and
upsert_coordinator.json, one per case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import results
from bench.results import FILE, Figures

UPSERT_FILE = FILE.with_name("upsert.json")
COORDINATOR_FILE = FILE.with_name("upsert_coordinator.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsertResult(Figures):
    """Figures of upsert tables; None = has no meaning in the case, or was not measured.

    Args:
        engine: `clickhouse 18.16`, `chdb`, or `none` for what asks no store.
        query: name of the query of case `read`, and of what was measured in others.
        keys: of the table, in cases whose tables differ in it.
        versions_per_key: rows of each key; of a state, versions that it holds of each.
        rows_stored: of the table at the begin of the measurement, ended rows included.
        unsettled_events: ends of rows behind the newest settle point.
        seconds: `median` and `p95` of the repetitions of a query; `median` of one pass else.
        ratio_to_append: of the medians of `seconds`, in the same run.
        records_per_second: records that come in; keys of case `bootstrap`, ends of `settle`.
        cpu_seconds_per_million: of the same records, keys or ends.
        freshness_seconds: `p50` and `p99`.
        bytes_per_key: of what `query` names: the state of keys, or a table on disk.
        bytes_per_row: of the store's tables on disk.
    """

    engine: str = "none"
    query: str | None = None
    keys: int | None = None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorResult(Figures):
    """Figures of the key coordinator by itself.

    Args:
        parts: of the state.
        empty_seconds, empty_cpu_seconds: of an empty tick.
        idle_cpu: CPU seconds per second while there is no tick.
        cpu_seconds_per_million: rows, the price of the ticks by themselves included.
        rows_per_cpu_second: beside the price of the ticks by themselves.
        bootstrap_seconds, bootstrap_cpu_seconds: with the start of the query.
        bootstrapped_bytes_per_key: of the snapshot behind a bootstrap: one version per key.
        bytes_per_key: of the newest snapshot of the state, as RocksDB has left it.
        merged_bytes_per_key: of the same, with all levels of RocksDB merged into one.
        checkpoint_bytes_per_key: of all files that Spark keeps, older snapshots among them.
    """

    keys: int
    rows_per_tick: int
    parts: int
    empty_seconds: float
    empty_cpu_seconds: float
    idle_cpu: float
    tick_seconds: float
    rows_per_second: float
    cpu_seconds_per_million: float
    rows_per_cpu_second: float
    bootstrap_seconds: float | None = None
    bootstrap_cpu_seconds: float | None = None
    bootstrapped_bytes_per_key: float | None = None
    bytes_per_key: float | None = None
    merged_bytes_per_key: float | None = None
    checkpoint_bytes_per_key: float | None = None
    peak_rss_mb: float

    @property
    def rate(self) -> float | None:
        return self.rows_per_second


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
