"""Field times: texts of a field as Unix times.

A text is a number of the field's unit since 1970, or a date and time as ISO 8601 writes them, with
seconds or as a day alone. A time without an offset from UTC is in the zone.
"""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from aggregator.formats.time_texts import times
from aggregator.objects.folders import Ints
from aggregator.objects.time_folders import BEGIN_MS, END_MS, NEVER
from aggregator.tables.column_type import column_type

PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}
"""Units of numbers."""
_NUMBER = r"^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$"
_MILLISECONDS = column_type("DateTime64(3)")


def field_times(texts: Sequence[str | None], unit: str, zone: ZoneInfo) -> Ints:
    """Returns the Unix time of each text in milliseconds; NEVER for none.

    Args:
        unit: one of PER_SECOND.
    """
    series = pl.Series(texts, dtype=pl.String)
    is_number = series.str.contains(_NUMBER).fill_null(False)
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(series))
    found = _of_numbers(series.zip_with(is_number, nothing), PER_SECOND[unit])
    # The year 0 stands for no date.
    is_text = ~is_number & ~series.str.starts_with("0000").fill_null(True)
    moments = series.zip_with(is_text, nothing).to_arrow(compat_level=pl.CompatLevel.oldest())
    column, bad = times(_MILLISECONDS, moments, zone.key)
    is_moment = np.asarray(column.is_valid()) & ~bad
    found[is_moment] = np.asarray(column.fill_null(0))[is_moment]
    return found


def _of_numbers(numbers: pl.Series, per_second: int) -> Ints:
    fraction = numbers.cast(pl.Float64, strict=False).fill_null(np.inf).to_numpy() / per_second
    is_near = (fraction > BEGIN_MS / 1000) & (fraction < END_MS / 1000)
    # A double does not keep all digits of microseconds.
    whole = numbers.cast(pl.Int64, strict=False)
    is_whole = is_near & whole.is_not_null().to_numpy()
    exact = np.where(is_whole, whole.fill_null(0).to_numpy(), 0)
    exact = exact * 1000 if per_second == 1 else exact // (per_second // 1000)
    rough = np.floor(np.where(is_near, fraction, 0) * 1000).astype(np.int64)
    found: Ints = np.where(is_whole, exact, np.where(is_near, rough, NEVER))
    return found
