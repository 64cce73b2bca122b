"""Read times: when the records behind a committed offset were read first, by whichever loader.

Whoever takes a partition over reads the records of open objects again. The age of these objects
counts from the first reading, or a partition that changes hands often would never end one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

POINTS_MAX = 6
STEP_MS = 1000
"""Least time between two points."""


class ReadTime(NamedTuple):
    """Records from an offset on were read at this time or later.

    Args:
        ms: Unix time.
    """

    offset: int
    ms: int


def set_back(points: tuple[ReadTime, ...], ahead_ms: int) -> tuple[ReadTime, ...]:
    """Returns points by a clock that is ahead of ours, by ours: what is in the future would have no
    age until then.

    Args:
        ahead_ms: Unix time of the commit by that clock, less the time of now by ours. A commit that
            lies in our past leaves the points as they are: it is not known how long ago it was.
    """
    if ahead_ms <= 0:
        return points
    return tuple(each._replace(ms=each.ms - ahead_ms) for each in points)


@dataclass(slots=True)
class ReadTimes:
    """Points of a partition, ascending. There are few: a time is that of the point before, so that
    an object may end somewhat early after a takeover, and never late.

    Args:
        read_to: end of what a predecessor had read; that of its own predecessor, where a point of
            its intent says so.
        points: as its intent has them.
    """

    read_to: int = 0
    points: Iterable[ReadTime] = ()
    _points: list[ReadTime] = field(init=False)

    def __post_init__(self) -> None:
        self.read_to = max([self.read_to, *(each.offset for each in self.points)])
        self._points = [each for each in self.points if each.offset < self.read_to]

    def note(self, offset: int, now: float) -> None:
        """Notes that records from an offset on are read now, at this Unix time."""
        now_ms = int(now * 1000)
        if offset < self.read_to or (self._points and now_ms < self._points[-1].ms + STEP_MS):
            return
        self._points.append(ReadTime(offset, now_ms))
        if len(self._points) > POINTS_MAX:
            # The first one is the age of the oldest object, the last one that of the newest.
            inner = range(1, len(self._points) - 1)
            spans = {at: self._points[at + 1].ms - self._points[at - 1].ms for at in inner}
            del self._points[min(inner, key=spans.__getitem__)]

    def since(self, offset: int, now: float) -> float:
        """Returns the Unix time at which a record that is read now was read first, or earlier."""
        return now if offset >= self.read_to else self.read_at(offset, now)

    def read_at(self, offset: int, now: float) -> float:
        """Returns the same of a record that was read, by whichever loader."""
        known = [each.ms for each in self._points if each.offset <= offset]
        return min(now, known[-1] / 1000) if known else now

    def behind(self, offset: int, position: int | None = None) -> tuple[ReadTime, ...]:
        """Returns the points of the records from an offset on; forgets those before.

        Args:
            position: next offset to read; None: all that a predecessor had read was read again. Up
                to `read_to` the records keep their age if another loader takes over before that.
        """
        later = [at for at, each in enumerate(self._points) if each.offset <= offset]
        del self._points[: later[-1] if later else 0]
        points = tuple(self._points)
        if not points or position is None or position >= self.read_to:
            return points
        return *points, ReadTime(self.read_to, points[-1].ms)
