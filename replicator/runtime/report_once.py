"""Reports that are made once, when their subject changes, although they are due again and again."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import NamedTuple

AGAIN_SECONDS = 60.0
DURATION = re.compile(r"\b\d+(\.\d+)? ?(ms|s)\b")


class ReportOnce:
    """Last report of each subject, which is not repeated."""

    def __init__(self) -> None:
        self._reports: dict[Hashable, str] = {}

    def is_news(self, subject: Hashable, text: str = "") -> bool:
        """Returns True when the subject has to be reported: for the first time, or with another
        text than last time."""
        is_news = self._reports.get(subject) != text
        self._reports[subject] = text
        return is_news

    def settle(self, subject: Hashable) -> bool:
        """Returns True when the subject had been reported; its next report is news again."""
        return self._reports.pop(subject, None) is not None


class _Reported(NamedTuple):
    kind: type[Exception]
    text: str
    at_seconds: float


class Troubles:
    """Errors of one action that is repeated for as long as the daemon runs.

    An error of another type is reported at once. An error of the same type with another text is
    reported once every `again_seconds` at most: a second server that does not answer is news, but
    one outage has many texts.
    """

    def __init__(self, again_seconds: float = AGAIN_SECONDS) -> None:
        self._again_seconds = again_seconds
        self._last: _Reported | None = None

    def begins(self, trouble: Exception, now_seconds: float) -> bool:
        """Returns True when a trouble has to be reported, as it differs from the last one."""
        # The waiting time in a text differs each time, and is no news.
        new = _Reported(type(trouble), DURATION.sub("", str(trouble)), now_seconds)
        last = self._last
        if last and last.kind is new.kind:
            is_late = now_seconds - last.at_seconds >= self._again_seconds
            if last.text == new.text or not is_late:
                return False
        self._last = new
        return True

    def end(self) -> bool:
        """Returns True when there was a trouble, now over; the next one is always reported."""
        last, self._last = self._last, None
        return last is not None
