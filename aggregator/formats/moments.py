"""Moments: dates and timestamps of typed formats as days, seconds or ticks of a column.

given                           Date, Date32            DateTime, DateTime64
date                            the day                 its begin in UTC
timestamp with a time zone      the server's day        floored to seconds or ticks
timestamp without               its day                 local time of the column's time zone,
                                                        else of the server's; floored
integer                         days                    seconds, or ticks: see time_texts
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats.record_slice import Ints
from aggregator.formats.time_texts import Flags, epochs, in_range, ticks_of
from aggregator.tables.column_type import ColumnType

_POWERS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_SECONDS_PER_DAY = 86_400
_SECONDS_MAX = 10**12
"""More seconds than from 1970 to the end of any column's range but that of a DateTime64(0)."""


def of_moments(kind: ColumnType, values: pa.Array, timezone: str) -> tuple[pa.Array, Flags]:
    """Returns the values of a column of dates or times, and True for each bad one.

    Args:
        values: of a type of the table above; others are bad.
        timezone: of the server.
    """
    given, is_day = values.type, kind.base in ("Date", "Date32")
    if pa.types.is_integer(given):
        number, fits = _of_integers(kind, values)
    elif pa.types.is_timestamp(given):
        ticks = np.asarray(pc.fill_null(values.cast(pa.int64()), 0))
        power, is_local = _POWERS[given.unit], given.tz is None
        seconds = ticks // 10**power
        if is_day:
            number = seconds if is_local else _local(seconds, timezone)
            number, fits = number // _SECONDS_PER_DAY, np.ones(len(values), np.bool_)
        else:
            utc, fits = seconds, np.ones(len(values), np.bool_)
            if is_local:
                utc, fits = _utc(seconds, kind.timezone or timezone)
            number, has_room = _scaled(kind, utc, ticks - seconds * 10**power, power)
            fits &= has_room
    elif pa.types.is_date32(given):
        days = np.asarray(pc.fill_null(values.cast(pa.int32()), 0)).astype(np.int64)
        number, fits = days, np.ones(len(values), np.bool_)
        if not is_day:
            number, fits = _scaled(kind, days * _SECONDS_PER_DAY, np.zeros_like(days), 0)
    else:
        number, fits = np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
    is_value = np.asarray(values.is_valid())
    column, bad = in_range(kind, number, is_value & fits)
    return column, bad | (is_value & ~fits)


def _of_integers(kind: ColumnType, values: pa.Array) -> tuple[Ints, Flags]:
    whole = np.asarray(pc.fill_null(values.cast(pa.int64(), safe=False), 0))
    # An unsigned number above those with a sign.
    fits = (whole >= 0) if pa.types.is_uint64(values.type) else np.ones(len(values), np.bool_)
    return (whole if kind.base in ("Date", "Date32") else epochs(kind, whole)), fits


def _scaled(kind: ColumnType, seconds: Ints, rest: Ints, power: int) -> tuple[Ints, Flags]:
    """Returns ticks of the column, and False where they need more than 64 bits.

    Args:
        rest: behind the seconds, in ticks of 10**-power seconds, from 0 up.
    """
    ticks, fits = ticks_of(kind, seconds)
    finer = kind.scale - power
    return ticks + (rest * 10**finer if finer >= 0 else rest // 10**-finer), fits


def _local(seconds: Ints, timezone: str) -> Ints:
    near = pl.from_epoch(pl.Series(np.clip(seconds, -_SECONDS_MAX, _SECONDS_MAX)), time_unit="s")
    zoned = near.dt.cast_time_unit("ms").dt.replace_time_zone("UTC").dt.convert_time_zone(timezone)
    local: Ints = zoned.dt.replace_time_zone(None).dt.epoch("s").to_numpy()
    return local


def _utc(seconds: Ints, timezone: str) -> tuple[Ints, Flags]:
    """Returns local times in UTC, and False for those that a change of the clock leaves out."""
    clipped = np.clip(seconds, -_SECONDS_MAX, _SECONDS_MAX)
    near = pl.from_epoch(pl.Series(clipped), time_unit="s")
    zoned = near.dt.cast_time_unit("ms").dt.replace_time_zone(
        timezone, ambiguous="earliest", non_existent="null"
    )
    is_known = zoned.is_not_null().to_numpy() & (seconds == clipped)
    return zoned.dt.epoch("s").fill_null(0).to_numpy(), is_known
