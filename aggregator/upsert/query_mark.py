"""Query mark: the tick at which a query reads an upsert table. Pure.

fresh    the newest tick that the chosen server holds whole; the default.
settled  the newest settle point of that server: no ends are read, so it costs least.
as of    a tick, or the newest tick of a time, within `history_seconds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from aggregator.upsert.seen_rows import ReadMark
from aggregator.upsert.visibility import MarkRefused, check_mark


@dataclass(frozen=True, slots=True)
class At:
    """Mark as a user names it.

    Args:
        tick, time_ms: at most one of them; without any, the newest mark.
        is_settled: the newest settle point.
    """

    tick: int | None = None
    time_ms: int | None = None
    is_settled: bool = False

    def __post_init__(self) -> None:
        if sum((self.tick is not None, self.time_ms is not None, self.is_settled)) > 1:
            raise ValueError("a mark is a tick, a time or the newest settle point")

    @property
    def is_earlier(self) -> bool:
        """True for a mark of the past."""
        return self.tick is not None or self.time_ms is not None


FRESH, SETTLED = At(), At(is_settled=True)


class TickTime(NamedTuple):
    """Tick, and its time in milliseconds since 1970."""

    tick: int
    time_ms: int


class TableTicks(NamedTuple):
    """Ticks of a table as a server tells them.

    Args:
        newest: the newest tick that was claimed; tick 0 of a table without any.
        oldest: the oldest one that may be read.
        horizon: ends up to it may be gone.
        settled: newest settle point of the server, up to the mark that is asked for; tick 0: none.
    """

    generation: int
    newest: TickTime
    oldest: TickTime
    horizon: int
    settled: TickTime = TickTime(0, 0)


NEVER = TickTime(0, 0)


def oldest_mark(newest: TickTime, horizon: TickTime, settled_before: TickTime) -> TickTime:
    """Returns the oldest tick that may be read.

    Args:
        horizon: that was published.
        settled_before: newest settle point whose time is `history_seconds` before that of `newest`,
            or earlier.
    """
    return max(horizon, settled_before) if newest.tick else NEVER


def tick_at(at: At, table: str, ticks: TableTicks, found: TickTime = NEVER) -> int:
    """Returns the tick at which a query reads a table, but for the newest settle point.

    Args:
        found: for a time, the newest tick that is not later.

    Raises MarkRefused, which names the oldest tick that may be read, or the newest one.
    """
    newest, oldest = ticks.newest, ticks.oldest
    if at.time_ms is not None:
        if at.time_ms > newest.time_ms:
            raise MarkRefused(
                f"{table} is not known as of {iso(at.time_ms)} yet: its newest tick is "
                f"{newest.tick}, of {iso(newest.time_ms)}; read as of that, or without a time"
            )
        if found.tick < oldest.tick or not found.tick:
            raise MarkRefused(
                f"{table} as of {iso(at.time_ms)} is too old: the oldest that can be read is tick "
                f"{oldest.tick}, of {iso(oldest.time_ms)}"
            )
        return found.tick
    if at.tick is not None:
        try:
            check_mark(at.tick, oldest.tick, newest.tick)
        except MarkRefused as refused:
            raise MarkRefused(f"{table}: {refused}") from None
        return at.tick
    return newest.tick


def mark_at(
    at: At,
    tick: int,
    settled: int,
    ticks: TableTicks,
    *,
    is_all_versions: bool,
    since_s: int = 0,
) -> ReadMark:
    """Returns the mark at which a query reads a table.

    Args:
        tick: see tick_at; the settle point itself, if that is asked for.
        settled: newest settle point of the server up to `tick`; 0 without any.
        since_s: see ReadMark.
    """
    known = ticks.newest.tick if at.is_earlier and not is_all_versions else tick
    told_after = ticks.horizon if is_all_versions else 0
    return ReadMark(tick, settled, known, is_all_versions, since_s, told_after)


def iso(time_ms: int) -> str:
    """Returns a time for people, with its milliseconds."""
    try:
        at = datetime.fromtimestamp(time_ms / 1000, UTC)
    except (OverflowError, ValueError):
        return f"{time_ms} ms"
    return at.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
