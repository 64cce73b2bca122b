"""Troubles of an action that is tried again and again: each is reported, and not repeated all day.

A trouble of another kind is reported at once. One of the same kind with another text is reported
too, since a second server that does not answer is news. That happens once a minute at most, because
one outage has many texts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

AGAIN_SECONDS = 60.0
DURATION = re.compile(r"\b\d+(\.\d+)? ?(ms|s)\b")


class _Told(NamedTuple):
    kind: type[Exception]
    text: str
    at_seconds: float


class Troubles:
    """Troubles of one action, one after the other."""

    def __init__(self) -> None:
        self._told: _Told | None = None

    def begins(self, trouble: Exception, now_seconds: float) -> bool:
        """Returns True when a trouble has to be reported, as it differs from the last one."""
        # Another waiting time does not make it another trouble.
        it = _Told(type(trouble), DURATION.sub("", str(trouble)), now_seconds)
        last = self._told
        if last and last.kind is it.kind:
            is_late = now_seconds - last.at_seconds >= AGAIN_SECONDS
            if last.text == it.text or not is_late:
                return False
        self._told = it
        return True

    def end(self) -> bool:
        """Returns True when there was a trouble, now over; the next one is always reported."""
        last, self._told = self._told, None
        return last is not None
