"""Visibility: bounds of the rows that a query sees at a mark, and of what has to be kept for it.

A row begins with its tick, and ends with the tick of its end in the table of updates. Settling
brings ends into the rows' column _until; a settle point S says that all ends up to tick S are there
on the servers that it names. A query at mark L on one of them starts from its newest settle point
S <= L and reads the ends of the ticks behind S itself. Rows of days that are over at the time of L
are not seen, so that servers may drop them one by one. seen_rows.py has this as SQL.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from aggregator.upsert.tick import ROW_BITS

DAY_S = 86_400
_HOUR_MS = 3_600_000


class MarkRefused(Exception):
    """A mark at which the table cannot be shown. Name another one."""


class SettlePoint(NamedTuple):
    """Tick up to which all ends are in the rows.

    Args:
        time_ms: of the tick (Tick.time_ms).
    """

    tick: int
    time_ms: int


class ReplicaCount(NamedTuple):
    """Count of rows on a replica that a settling had to end and did not.

    Args:
        level: newest tick of which the replica had all rows and updates when they were counted.
            What comes later is not counted, and nothing would end it.
        open_rows: rows whose _until is behind the settle point.
    """

    level: int
    open_rows: int


def check_mark(mark: int, horizon: int, newest: int) -> None:
    """Raises MarkRefused for a mark that cannot be read.

    Args:
        horizon: the oldest mark that can be read: ends up to it may be deleted.
        newest: the table's low-water mark.
    """
    if mark < horizon:
        raise MarkRefused(f"tick {mark} is too old; the oldest that can be read is {horizon}")
    if mark > newest:
        raise MarkRefused(f"tick {mark} is not there yet; the newest that can be read is {newest}")


def settled_at(mark: int, points: Iterable[int]) -> int:
    """Returns the newest settle point that a query at a mark may use; 0 if there is none."""
    return max((each for each in points if each <= mark), default=0)


def row_id_end(mark: int) -> int:
    """Returns the first row id that is not there at a mark: that of the tick behind it."""
    return (mark + 1) << ROW_BITS


def admitted_since_ms(time_ms: int, retention_hours: float) -> int:
    """Returns the event time, in Unix milliseconds, before which a tick admits no record.

    Args:
        time_ms: of the tick (Tick.time_ms), which never goes back from one tick to the next.
    """
    return time_ms - round(retention_hours * _HOUR_MS)


def remembered_since_s(time_ms: int, retention_hours: float) -> int:
    """Returns the event time, in Unix seconds, before which a bootstrap at a tick forgets deletes.

    No record that is older is admitted at the tick or later, so that none revives their keys.

    Args:
        time_ms: of the tick.
    """
    return max(0, admitted_since_ms(time_ms, retention_hours) // 1000)


def shown_since_s(time_ms: int, retention_hours: float) -> int:
    """Returns the event time, in Unix seconds, before which no row is seen at a mark.

    It is the begin of the UTC day of the oldest record that the mark's tick admits: a day of rows
    is seen as a whole or not at all, and is dropped as a whole (decision 0114).

    Args:
        time_ms: of the mark's tick.
    """
    since_s = remembered_since_s(time_ms, retention_hours)
    return since_s - since_s % DAY_S


def day_of(time_s: int) -> int:
    """Returns the UTC day of a Unix time as YYYYMMDD, by which rows are partitioned."""
    at = datetime.fromtimestamp(time_s, UTC)
    return (at.year * 100 + at.month) * 100 + at.day


def day_begin_s(day: int) -> int:
    """Returns the Unix time at which a day (YYYYMMDD) begins."""
    begin = datetime(day // 10_000, day // 100 % 100, day % 100, tzinfo=UTC)
    return int(begin.timestamp())


def has_settled(count: ReplicaCount | None, point: int) -> bool:
    """Returns True for a server that has ended all rows of the ends up to a settle point.

    Args:
        count: made behind the mutation; None for a server that does not answer.
    """
    return count is not None and count.level >= point and not count.open_rows


def has_ends(settled: int, horizon: int) -> bool:
    """Returns True for a server that has all ends that its rows do not tell.

    Args:
        settled: newest settle point that the server has.
        horizon: that is published; ends up to it may be gone.
    """
    return settled >= horizon


def oldest_readable(
    points: Iterable[SettlePoint], now_ms: int, history_seconds: float, *, before: int = 0
) -> int:
    """Returns the oldest mark that has to be readable: a settle point. The horizon is never later.

    Args:
        points: that were published.
        now_ms: time of the newest claimed tick.
        history_seconds: the setting.
        before: the horizon published before, which never goes back.
    """
    old = [each.tick for each in points if now_ms - each.time_ms >= history_seconds * 1000]
    return max([before, *old])
