"""Time texts: dates and times as ClickHouse reads them, turned into its numbers.

    Date        2013-01-31
    DateTime    2013-01-31 23:59:59, also with T between them, and with Z or an offset behind them;
                or seconds since 1970
    DateTime64  the same, or ticks since 1970 (above 10**9 * scale)

Seconds may have a fraction. What is finer than the column is dropped towards the past. A time
without an offset is in the column's time zone, else in the server's.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from aggregator.formats.record_slice import Ints
from aggregator.tables.column_type import SCALE_MAX, ColumnType
from aggregator.tables.value_limits import limits_of
from replicator.batches.varints import Octets

Flags = npt.NDArray[np.bool_]
_Int32s = npt.NDArray[np.int32]

_SECONDS_PER_DAY = 86_400
_MONTHS = 14
_TICKS_FROM = 1_000_000_000
_RANGES = {
    "Date": (0, 2**16 - 1),
    # 1900-01-01 to 2299-12-31, as ClickHouse has it.
    "Date32": (-25_567, 120_529),
    "DateTime": (0, 2**32 - 1),
    "DateTime64": (-(2**63), 2**63 - 1),
}
_WIDTHS = {"Date": np.uint16, "Date32": np.int32, "DateTime": np.uint32, "DateTime64": np.int64}
# polars takes digits of any script for \d.
_GENERAL = (
    r"^(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T](?P<clock>[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.(?P<fraction>[0-9]+))?"
    r"(?P<offset>Z|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9])?)?$"
)
_NUMBER = r"^(-?)([0-9]{1,19})(?:\.([0-9]+))?$"


def times(kind: ColumnType, texts: pa.Array, timezone: str) -> tuple[pa.Array, Flags]:
    """Returns the numbers of these texts (null where there is none), and True for each bad one.

    Args:
        texts: a column of large strings.
        timezone: of the server.
    """
    number = np.zeros(len(texts), np.int64)
    is_text = np.asarray(texts.is_valid())
    rest = is_text.copy()
    length = 10 if kind.base in ("Date", "Date32") else 19
    plain = np.flatnonzero(is_text & (np.diff(limits_of(texts)) == length))
    seconds, is_good = _plain(_at(texts, plain), length)
    if kind.base in ("DateTime", "DateTime64"):
        seconds, is_known = _to_utc(kind, seconds, timezone)
        is_good &= is_known
        ticks, fits = ticks_of(kind, seconds)
        is_good &= fits
    else:
        ticks = seconds // _SECONDS_PER_DAY
    number[plain[is_good]] = ticks[is_good]
    rest[plain[is_good]] = False
    if rest.any():
        others = np.flatnonzero(rest)
        number[others], rest[others] = _others(kind, texts.take(pa.array(others)), timezone)
    column, bad = in_range(kind, number, is_text)
    return column, rest | bad


def in_range(kind: ColumnType, number: Ints, is_value: Flags) -> tuple[pa.Array, Flags]:
    """Returns days, seconds or ticks as a column, and True for each that it cannot hold.

    Args:
        is_value: False for each that is null.
    """
    least, most = _RANGES[kind.base]
    bad = is_value & ((number < least) | (number > most))
    return pa.array(np.where(bad, 0, number).astype(_WIDTHS[kind.base]), mask=~is_value), bad


def ticks_of(kind: ColumnType, seconds: Ints) -> tuple[Ints, Flags]:
    """Returns seconds as ticks of the column, and False where these, or a fraction behind them,
    need more than 64 bits."""
    # The least number of 64 bits has no absolute value.
    limit = (2**63 - 1) // 10**kind.scale - 1
    fits = (seconds >= -limit) & (seconds <= limit)
    return np.where(fits, seconds, 0) * 10**kind.scale, fits


def epochs(kind: ColumnType, whole: Ints) -> Ints:
    """Returns seconds, or large enough numbers of ticks, as the number that a column stores."""
    limit = (2**63 - 1) // 10**kind.scale
    return np.where(_is_ticks(kind, whole), whole, np.clip(whole, -limit, limit) * 10**kind.scale)


def _is_ticks(kind: ColumnType, whole: Ints) -> Flags:
    if not kind.scale:
        return np.zeros(len(whole), np.bool_)
    ticks_from = _TICKS_FROM * kind.scale
    return (whole >= ticks_from) | (whole <= -ticks_from)


def _at(texts: pa.Array, which: Ints) -> pa.Array:
    return texts if len(which) == len(texts) else texts.take(pa.array(which))


def _plain(texts: pa.Array, length: int) -> tuple[Ints, Flags]:
    """Returns the seconds of texts `YYYY-MM-DD hh:mm:ss`, or the day only, and True for good ones.

    Args:
        length: of each of the texts, of which none is null.
    """
    limits = limits_of(texts)
    octets = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[limits[0] : limits[-1]]
    # One row for each place in the text.
    text = np.ascontiguousarray(octets.reshape(-1, length).T)
    digits = text - np.uint8(ord("0"))
    places = [place for place in range(length) if place not in (4, 7, 10, 13, 16)]
    good = (digits[places] < 10).all(axis=0) & (text[4] == ord("-")) & (text[7] == ord("-"))
    if length > 10:
        good &= ((text[10] == ord(" ")) | (text[10] == ord("T"))) & (text[13] == ord(":"))
        good &= text[16] == ord(":")
    if not good.all():
        digits = np.where(good, digits, 0)
    year = (digits[0] * 10 + digits[1]).astype(np.int32) * 100 + (digits[2] * 10 + digits[3])
    days, is_day = _days(year, digits[5] * 10 + digits[6], digits[8] * 10 + digits[9])
    good &= is_day
    seconds = days.astype(np.int64) * _SECONDS_PER_DAY
    if length > 10:
        hour, minute = digits[11] * 10 + digits[12], digits[14] * 10 + digits[15]
        second = digits[17] * 10 + digits[18]
        good &= (hour < 24) & (minute < 60) & (second < 60)
        seconds += hour.astype(np.int32) * 3600 + minute.astype(np.int32) * 60 + second
    return seconds, good


def _days(year: _Int32s, month: Octets, day: Octets) -> tuple[_Int32s, Flags]:
    """Returns the days since 1970 of dates, and True for those that exist; 0000-00-00 is 0."""
    first, size = _calendar()
    at = year * _MONTHS + np.minimum(month, _MONTHS - 1)
    return first[at] + day, ((day - np.uint8(1)) < size[at]) | ((at == 0) & (day == 0))


@cache
def _calendar() -> tuple[_Int32s, Octets]:
    """Returns the day before each month of the years 0 to 9999, and the month's number of days.

    A year has 14 places: months 0 and 13 have no days.
    """
    years = (np.arange(10_000) - 1970)[:, np.newaxis] * 12 + np.arange(-1, _MONTHS - 1)
    begin = years.astype("datetime64[M]").astype("datetime64[D]").astype(np.int32)
    end = (years + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int32)
    size = (end - begin).astype(np.uint8)
    size[:, [0, -1]] = 0
    # There is no year 0; its date 0000-00-00 is the day 0.
    size[0] = 0
    first = begin - 1
    first[0, 0] = 0
    return first.ravel(), size.ravel()


def _to_utc(kind: ColumnType, seconds: Ints, server: str) -> tuple[Ints, Flags]:
    """Returns local times in UTC, and False for those that a change of the clock leaves out.

    Args:
        server: time zone of the server.
    """
    timezone = kind.timezone or server
    if timezone in ("UTC", "Etc/UTC", "GMT") or not len(seconds):
        return seconds, np.ones(len(seconds), np.bool_)
    local = pl.from_epoch(pl.Series(seconds), time_unit="s").dt.cast_time_unit("ms")
    zoned = local.dt.replace_time_zone(timezone, ambiguous="earliest", non_existent="null")
    utc = zoned.dt.epoch("s")
    known = utc.fill_null(0).to_numpy()
    if kind.base == "DateTime":
        # 1970-01-01 00:00:00 also stands for 0000-00-00, in each time zone.
        known = np.where(seconds == 0, np.maximum(known, 0), known)
    return known, utc.is_not_null().to_numpy()


def _others(kind: ColumnType, texts: pa.Array, timezone: str) -> tuple[Ints, Flags]:
    """Returns the numbers of texts in any other accepted form, and True for the bad ones."""
    series = pl.Series("text", texts)
    if kind.base in ("Date", "Date32"):
        return np.zeros(len(series), np.int64), np.ones(len(series), np.bool_)
    parts = series.str.extract_groups(_GENERAL).struct.unnest()
    plain = (parts["day"] + " " + parts["clock"].fill_null("00:00:00")).to_arrow(
        compat_level=pl.CompatLevel.oldest()
    )
    is_time = np.asarray(plain.is_valid())
    seconds, is_good = np.zeros(len(series), np.int64), np.zeros(len(series), np.bool_)
    which = np.flatnonzero(is_time)
    seconds[which], is_good[which] = _plain(_at(plain, which), 19)
    shift = _offset_seconds(parts["offset"])
    here = np.asarray(parts["offset"].is_null())
    local, is_known = _to_utc(kind, seconds, timezone)
    seconds = np.where(here, local, seconds - shift)
    is_good &= ~here | is_known
    fraction, _ = _fraction(parts["fraction"], kind)
    ticks, fits = ticks_of(kind, seconds)
    ticks, is_good = ticks + fraction, is_good & fits
    number, is_number = _epoch(series, kind)
    return np.where(is_number, number, ticks), ~(is_good | is_number)


def _offset_seconds(offset: pl.Series) -> Ints:
    """Returns the seconds of offsets such as +02:00; 0 for Z and for none."""
    parts = offset.str.extract_groups(r"^([+-])([0-9]{2}):?([0-9]{2})$").struct.unnest()
    hours, minutes = (parts.to_series(at).cast(pl.Int64).fill_null(0) for at in (1, 2))
    sign = (parts.to_series(0) == "-").fill_null(False).cast(pl.Int64) * -2 + 1
    seconds: Ints = (sign * (hours * 3600 + minutes * 60)).to_numpy()
    return seconds


def _fraction(digits: pl.Series, kind: ColumnType) -> tuple[Ints, Flags]:
    """Returns digits behind the point as whole ticks, and True where more than these is there."""
    padded = digits.fill_null("").str.pad_end(SCALE_MAX, "0")
    nanos = padded.str.slice(0, SCALE_MAX).cast(pl.Int64).to_numpy()
    has_more = padded.str.slice(SCALE_MAX).str.contains("[1-9]").to_numpy()
    ticks, rest = np.divmod(nanos, 10 ** (SCALE_MAX - kind.scale))
    return ticks, has_more | (rest > 0)


def _epoch(series: pl.Series, kind: ColumnType) -> tuple[Ints, Flags]:
    """Returns the ticks of numbers, and False for texts that are no such number."""
    sign, digits, behind = series.str.extract_groups(_NUMBER).struct.unnest()
    # A number of 19 digits need not fit into 64 bits.
    digits = digits.cast(pl.Int64, strict=False)
    is_number = np.asarray(digits.is_not_null())
    is_negative = (sign == "-").fill_null(False).to_numpy()
    size = digits.fill_null(0).to_numpy()
    fraction, has_more = _fraction(behind, kind)
    whole = np.where(is_negative, -size, size)
    is_ticks = _is_ticks(kind, whole)
    has_more |= is_ticks & (fraction > 0)
    fraction = np.where(is_ticks, 0, fraction)
    return epochs(kind, whole) + np.where(is_negative, -fraction - has_more, fraction), is_number
