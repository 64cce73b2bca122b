"""Growth of an upsert table's figures with its number of keys, and what they are at 1e9 keys.

Totals of a figure at several numbers of keys are fitted by least squares of their relative errors,
as a machine that is slow for a moment is off by a part of what it does. Two models: a + b n, which
is what the algorithms say, and a + b n log n, which sorting and more levels of RocksDB would give.
How far apart the two are at 1e9 keys says more than the error of either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.table_cells import Row, Rows, met

TARGET_KEYS = 1_000_000_000
VERSIONS = 3
"""Rows of each key in the tables of case `scale`."""
STATE_BYTES_MAX = 120.0
BOOTSTRAP_KEYS = 40_000
"""Aim of keys that a bootstrap reads and folds per second and core."""
SETTLE_SECONDS_MAX = 15.0
"""Half of the default of `settle_seconds`, from which on decision 0102 is to be thought over."""
Floats = npt.NDArray[np.float64]


STATE, MERGED, ROWS, ENDS = "state", "state, merged", "rows", "events"
SETTLE, FEW_ENDS = "settle all", "settle 60000"
READING, FOLDING = "bootstrap: reading", "bootstrap: folding"
"""Queries of results that are judged as well."""


class Estimate(NamedTuple):
    """Value that a fit says for a number of keys.

    Args:
        value: in the unit of the totals.
        error: standard error of the value, as a part of it; None with no more points than unknowns.
        misfit: largest distance of a total from the fit, as a part of the total.
    """

    value: float
    error: float | None
    misfit: float


def linear(keys: Floats) -> Floats:
    return keys


def linearithmic(keys: Floats) -> Floats:
    found: Floats = keys * np.log2(keys)
    return found


MODELS = (linear, linearithmic)


def estimate(
    keys: Sequence[int],
    totals: Sequence[float],
    model: Callable[[Floats], Floats] = linear,
    at: int = TARGET_KEYS,
) -> Estimate:
    """Returns what totals of a figure grow to. Pure.

    Args:
        keys: at least two different numbers.
        totals: above 0, one for each number of keys.
        model: what grows, beside a constant.
    """
    y = np.array(totals)
    terms = np.stack([np.ones(len(y)), model(np.array(keys, np.float64))], axis=1)
    # Columns of about the same size: the numbers of keys would drown the constant.
    size = terms.max(axis=0)
    weighed = terms / size / y[:, None]
    found, *_ = np.linalg.lstsq(weighed, np.ones(len(y)), rcond=None)
    residuals = weighed @ found - 1
    wanted = np.array([1.0, *model(np.array([at], np.float64))]) / size
    value = float(wanted @ found)
    error = None
    if (freedom := len(y) - len(found)) > 0:
        spread = float(residuals @ residuals) / freedom
        error = float(np.sqrt(spread * (wanted @ np.linalg.inv(weighed.T @ weighed) @ wanted)))
        error /= abs(value)
    return Estimate(value, error, float(np.abs(residuals).max()))


def size_bytes(row: Row) -> float | None:
    found = row["bytes_per_key"]
    return None if found is None else float(found * row["keys"])


def cpu_seconds(row: Row) -> float | None:
    found, count = row["cpu_seconds_per_million"], row["unsettled_events"] or row["keys"]
    return None if found is None else float(found * count / 1e6)


def wall_seconds(row: Row) -> float | None:
    found = row["seconds"]
    return None if found is None else float(found["median"])


class Line(NamedTuple):
    """Line of the table.

    Args:
        query: of the results.
        total: figure of a result as a whole.
        is_per_key: totals are shown divided by the keys.
        unit: of what is shown.
        target_unit, target_size: of the total at TARGET_KEYS.
    """

    query: str
    name: str
    total: Callable[[Row], float | None]
    unit: str
    target_unit: str
    target_size: float
    is_per_key: bool = False


def sizes(query: str, name: str) -> Line:
    return Line(query, name, size_bytes, "bytes per key", "GB", 1e9, is_per_key=True)


def times(query: str, name: str, unit: str = "s", size: float = 1.0) -> Iterator[Line]:
    yield Line(query, name, cpu_seconds, "CPU s", f"CPU {unit}", size)
    yield Line(query, name, wall_seconds, "s", unit, size)


LINES = (
    sizes(STATE, "state, as RocksDB has left it"),
    sizes(MERGED, "state, its levels merged"),
    sizes("state, bootstrapped", "state behind a bootstrap, one version of each key"),
    sizes("state, all files", "checkpoint, older snapshots included"),
    sizes(ROWS, "rows, three of each key"),
    sizes(ENDS, "ends, two of each key"),
    *times(SETTLE, "settle of two ends of each key", "h", 3600.0),
    *times(FEW_ENDS, "settle of 60 000 ends"),
    *times(READING, "bootstrap: reading", "h", 3600.0),
    *times(FOLDING, "bootstrap: folding, with the start of the query", "h", 3600.0),
)


def table(rows: Rows) -> Iterator[str]:
    """Yields the lines of the table: each figure at each number of keys, and at TARGET_KEYS."""
    found = [row for row in rows.values() if row["case"] == "scale"]
    all_keys = sorted({row["keys"] for row in found})
    if not all_keys:
        return
    heads = " | ".join(f"{keys:,} keys" for keys in all_keys)
    yield f"| what | unit | {heads} | 1e9 keys by n | error | misfit | by n log n | misfit |"
    yield f"|---|---|{'--:|' * (len(all_keys) + 5)}"
    for line in LINES:
        totals = totals_of(found, line)
        cells = " | ".join(_shown(totals, keys, line) for keys in all_keys)
        yield f"| {line.name} | {line.unit} | {cells} | {_grown(totals, line)} |"


def totals_of(rows: Sequence[Row], line: Line) -> dict[int, float]:
    """Returns the totals of a line, by number of keys."""
    found = ((row["keys"], line.total(row)) for row in rows if row["query"] == line.query)
    return {keys: total for keys, total in found if total}


def _shown(totals: dict[int, float], keys: int, line: Line) -> str:
    if keys not in totals:
        return "-"
    return f"{totals[keys] / (keys if line.is_per_key else 1):,.3g}"


def _grown(totals: dict[int, float], line: Line) -> str:
    """Returns the cells of TARGET_KEYS."""
    if len(totals) < 2:
        return "- | - | - | - | -"
    by_n, by_n_log_n = (estimate([*totals], [*totals.values()], it) for it in MODELS)
    error = "-" if by_n.error is None else f"{by_n.error:.1%}"
    first, second = (f"{it.value / line.target_size:,.3g}" for it in (by_n, by_n_log_n))
    unit = line.target_unit
    return (
        f"{first} {unit} | {error} | {by_n.misfit:.1%} | {second} {unit} | {by_n_log_n.misfit:.1%}"
    )


def verdicts(rows: Rows) -> Iterator[str]:
    """Yields for each aim whether it is met, as measured and at TARGET_KEYS."""
    found = [row for row in rows.values() if row["case"] == "scale"]
    state = totals_of(found, sizes(STATE, ""))
    merged = totals_of(found, sizes(MERGED, ""))
    for keys in sorted(state.keys() & merged.keys()):
        left = state[keys] / keys
        yield (
            f"- scale: state of {keys:,} keys: {left:.0f} as RocksDB has left it"
            f" {met(left <= STATE_BYTES_MAX)}, {_merged_verdict(merged[keys] / keys)}."
        )
    if len(merged) > 1:
        each = _grown_to(merged) / TARGET_KEYS
        yield f"- scale: state of 1e9 keys: {_merged_verdict(each)}."
    stored = [totals_of(found, sizes(query, "")) for query in (ROWS, ENDS, MERGED)]
    if all(len(totals) > 1 for totals in stored):
        rows_gb, ends_gb, state_gb = (_grown_to(it, TARGET_KEYS // VERSIONS) / 1e9 for it in stored)
        records = 1000 / (rows_gb + ends_gb)
        yield (
            f"- scale: 1e9 records, three of each key, are {rows_gb:.0f} GB of rows and"
            f" {ends_gb:.0f} GB of ends on a server, and {state_gb:.0f} GB of state, its levels"
            f" merged; 1 TB of rows and ends are {records:.1f}e9 records."
        )
    reading, folding, few = (
        totals_of(found, next(times(query, ""))) for query in (READING, FOLDING, FEW_ENDS)
    )
    if both := reading.keys() & folding.keys():
        keys = max(both)
        each = keys / (reading[keys] + folding[keys])
        yield (
            f"- scale: a bootstrap of {keys:,} keys reads and folds {each:,.0f} per CPU second,"
            f" aim {BOOTSTRAP_KEYS:,} {met(each >= BOOTSTRAP_KEYS)}."
        )
    if len(few) > 1:
        seconds = _grown_to(few)
        yield (
            f"- scale: a settle of 60 000 ends takes {max(few.values()):.2f} CPU s at"
            f" {max(few):,} keys, and {seconds:,.0f} at 1e9; on one core at most"
            f" {SETTLE_SECONDS_MAX:.0f} s (decision 0102) {met(seconds <= SETTLE_SECONDS_MAX)}."
        )


def _grown_to(totals: dict[int, float], at: int = TARGET_KEYS) -> float:
    """Returns what totals grow to by the model that misfits less."""
    found = (estimate([*totals], [*totals.values()], model, at) for model in MODELS)
    return min(found, key=lambda each: each.misfit).value


def _merged_verdict(size: float) -> str:
    is_met = met(size <= STATE_BYTES_MAX)
    aim = f"aim at most {STATE_BYTES_MAX:.0f} {is_met}"
    return f"{size:.0f} bytes per key with its levels merged, {aim}"
