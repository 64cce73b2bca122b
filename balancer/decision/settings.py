"""Settings of a route's rounds: limits, rules, and off-peak window.

The defaults are those of the [balance] table, except for `carriers_max` and `moves_max`: their 0 in
the table means a number that follows from the task slots and from the partitions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf

CARRIERS_MAX = 1000
"""Most carriers of a stream, which has as many carrier numbers of its own."""
MOVES_MAX_LEAST = 100
"""Most voluntary moves in one round of a small route; a large one may make more."""
_MINUTE_MS = 60_000
_DAY_MINUTES = 24 * 60
_WINDOW = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one route.

    Args:
        carriers_min, carriers_max: range of the number of carriers.
        threshold: part of a carrier's time that is planned; the rest is for bursts.
        partitions_max: maximum number of partitions of each carrier.
        room_setting: name of the setting that `partitions_max` follows from.
        slack: distance of the heaviest carrier above the lower bound, as a part of the bound, up to
            which a sticky plan moves nothing.
        idle: load, as a part of a carrier's time, up to which no carrier is worth relieving.
        calm_rounds: rounds in a row that have to need fewer carriers before the number shrinks.

    Raises ValueError that names the invalid limit.
    """

    carriers_min: int = 1
    carriers_max: int = CARRIERS_MAX
    threshold: float = 0.7
    partitions_max: int = 10_000
    room_setting: str = "partitions_max"
    slack: float = 0.05
    idle: float = 0.05
    calm_rounds: int = 10

    def __post_init__(self) -> None:
        if self.carriers_min < 1:
            raise ValueError(
                f"carriers_min is {self.carriers_min}: a route has one carrier or more"
            )
        if self.carriers_max < self.carriers_min:
            raise ValueError(
                f"carriers_max is {self.carriers_max}, below carriers_min, {self.carriers_min}"
            )
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold is {self.threshold:g}: above 0, and 1 at most")
        if self.partitions_max < 1:
            raise ValueError(f"partitions_max is {self.partitions_max}: 1 or more")
        if not 0 <= self.slack < inf:
            raise ValueError(f"slack is {self.slack:g}: 0 or more")
        if not 0 <= self.idle <= 1:
            raise ValueError(f"idle is {self.idle:g}: from 0 to 1")
        if self.calm_rounds < 0:
            raise ValueError(f"calm_rounds is {self.calm_rounds}: 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules of one route's rounds: when a plan is made, and how many partitions move at a time.

    Args:
        cool_down_seconds: time after voluntary moves, or a smaller number of carriers, in which no
            voluntary move is made.
        moves_max: maximum number of voluntary moves in one round.
        patience_rounds: rounds in a row in which a carrier has to exceed the slack before
            partitions move for it.
        lag_seconds_max, lag_patience_seconds: a partition lags when it has been more than
            `lag_seconds_max` behind for `lag_patience_seconds`.
        off_peak: daily window in UTC in which everything may be placed anew, such as "02:00-04:30";
            empty for never.

    Raises ValueError that names the invalid rule.
    """

    cool_down_seconds: float = 300.0
    moves_max: int = MOVES_MAX_LEAST
    patience_rounds: int = 3
    lag_seconds_max: float = 30.0
    lag_patience_seconds: float = 60.0
    off_peak: str = ""

    def __post_init__(self) -> None:
        for name in ("cool_down_seconds", "lag_seconds_max", "lag_patience_seconds"):
            if not 0 <= getattr(self, name) < inf:
                raise ValueError(f"{name} is {getattr(self, name):g}: 0 or more")
        for name in ("moves_max", "patience_rounds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: 1 or more")
        if self.off_peak:
            DailyWindow.parsed(self.off_peak)

    @property
    def off_peak_window(self) -> DailyWindow | None:
        return DailyWindow.parsed(self.off_peak) if self.off_peak else None


@dataclass(frozen=True, slots=True)
class DailyWindow:
    """Window from one minute of each day to another, in UTC; the end minute is not part of it."""

    begin_minute: int
    end_minute: int

    @classmethod
    def parsed(cls, text: str) -> DailyWindow:
        """Returns the window of a text such as "02:00-04:30"; "22:00-03:00" passes midnight.

        Raises ValueError for any other text, and for a window that ends when it begins.
        """
        found = _WINDOW.fullmatch(text)
        if not found:
            raise ValueError(f'off_peak is {text!r}: write a daily window in UTC, "02:00-04:30"')
        begin_hour, begin, end_hour, end = map(int, found.groups())
        window = cls(60 * begin_hour + begin, 60 * end_hour + end)
        if window.begin_minute == window.end_minute:
            raise ValueError(f"off_peak is {text!r}: the window ends when it begins")
        return window

    def day(self, now_ms: int) -> int | None:
        """Returns the day, counted from 1970, on which the open window began; None outside."""
        day, minute = divmod(now_ms // _MINUTE_MS, _DAY_MINUTES)
        if self.begin_minute < self.end_minute:
            return day if self.begin_minute <= minute < self.end_minute else None
        if minute >= self.begin_minute:
            return day
        return day - 1 if minute < self.end_minute else None
