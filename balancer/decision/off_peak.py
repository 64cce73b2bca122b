"""Off-peak window: the time of day at which a route has least load and may be placed anew."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MINUTE_MS = 60_000
_DAY_MINUTES = 24 * 60
_TEXT = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|(24):(00))")


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
        found = _TEXT.fullmatch(text)
        if not found:
            raise ValueError(f'off_peak is {text!r}: give times of a day in UTC, as "02:00-04:30"')
        begin_hour, begin, end_hour, end = (int(each) for each in found.groups() if each)
        window = cls(60 * begin_hour + begin, 60 * end_hour + end)
        if window.begin_minute == window.end_minute:
            raise ValueError(f"off_peak is {text!r}: it ends when it begins")
        return window

    def day(self, now_ms: int) -> int | None:
        """Returns the day, counted from 1970, on which the open window began; None outside."""
        day, minute = divmod(now_ms // _MINUTE_MS, _DAY_MINUTES)
        if self.begin_minute < self.end_minute:
            return day if self.begin_minute <= minute < self.end_minute else None
        if minute >= self.begin_minute:
            return day
        return day - 1 if minute < self.end_minute else None
