"""Low-water mark: the newest tick that all servers of a table can show.

A server's mark is the least of its partitions' marks, and the mark of a partition the lesser of the
ticks up to which the server has its rows and its updates (seed: LWM(table, server, partition)). A
table's mark is the least of the servers that answer. A server that lags is left out, so that it
does not hold up the settling of the others, and returns once it has the table's mark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Level(NamedTuple):
    """Newest ticks of which a server has all rows and all updates of a partition, and of all ticks
    before."""

    rows: int
    updates: int

    @property
    def mark(self) -> int:
        """Newest tick that the server can show of the partition."""
        return min(self)


class Claimed(NamedTuple):
    """Claimed tick, and when it was first seen.

    Args:
        seen_seconds: on the monotonic clock of who asks for the mark.
    """

    tick: int
    seen_seconds: float


@dataclass(frozen=True, slots=True)
class TableMark:
    """Mark of a table.

    Args:
        tick: None if no server can be asked.
        servers: marks of the servers that may be asked at `tick`.
        left_out: reasons, by server.
    """

    tick: int | None
    servers: Mapping[str, int]
    left_out: Mapping[str, str]


def server_mark(levels: Mapping[int, Level]) -> int:
    """Returns the newest tick that a server can show of all partitions; 0 if it has none.

    Args:
        levels: by lane.
    """
    return min((each.mark for each in levels.values()), default=0)


def lag_seconds(mark: int, claims: Sequence[Claimed], now_seconds: float) -> float:
    """Returns for how long a server has lacked the first claimed tick behind its mark; 0 if it
    lacks none."""
    lacking = [each.seen_seconds for each in claims if each.tick > mark]
    return max(0.0, now_seconds - min(lacking)) if lacking else 0.0


def table_mark(
    servers: Mapping[str, int | None],
    claims: Sequence[Claimed],
    now_seconds: float,
    lag_seconds_max: float,
    *,
    before: int = 0,
) -> TableMark:
    """Returns the mark of a table.

    Args:
        servers: marks by server; None for one that does not answer.
        claims: the newest claimed ticks; older ones than every mark are not needed.
        now_seconds: on the clock of `claims`.
        lag_seconds_max: the setting server_lag_seconds.
        before: the mark that readers were given before. The mark never goes back, so a server that
            was left out returns once it has this tick.
    """
    left_out: dict[str, str] = {}
    marks: dict[str, int] = {}
    for server, mark in sorted(servers.items()):
        if mark is None:
            left_out[server] = "does not answer"
        elif mark < before:
            left_out[server] = f"has tick {mark}, and readers were shown tick {before}"
        elif (lag := lag_seconds(mark, claims, now_seconds)) > lag_seconds_max:
            left_out[server] = f"has tick {mark}, and lacks the next one for {lag:.0f} s"
        else:
            marks[server] = mark
    return TableMark(min(marks.values(), default=None), marks, left_out)
