"""Rules of visibility as the model of upsert tables applies them, row by row. The product has them
as SQL: seen_rows.py and settling.py."""

from __future__ import annotations

from collections.abc import Collection

from aggregator.upsert.visibility import row_id_end


def is_visible(
    row_id: int,
    until: int,
    mark: int,
    ended: Collection[int],
    *,
    time_s: int = 0,
    since_s: int = 0,
) -> bool:
    """Returns True if a query at a mark sees a row.

    A delete's _until is its own tick, so that it is never seen.

    Args:
        until: the row's _until.
        ended: ids of the rows with an end in a tick behind the settle point, up to the mark.
        time_s: the row's _time, in Unix seconds.
        since_s: shown_since_s of the mark's tick.
    """
    is_open = until > mark and row_id not in ended
    return row_id < row_id_end(mark) and is_open and time_s >= since_s


def is_behind(tick: int, settled: int, mark: int) -> bool:
    """Returns True for an end that a query has to read itself."""
    return settled < tick <= mark


def settled_until(until: int, point: int) -> int:
    """Returns the _until of a row that ended behind the former settle point, up to the new one.

    The new settle point does for all of these rows: queries at marks before it use a former settle
    point and read the end itself. _until never rises, so it does no harm if two settlings run at
    once, or one runs again.
    """
    return min(until, point)
