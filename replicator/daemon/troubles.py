"""What keeps something from being done that is tried again and again: told, and not told all day.

One of another kind is told at once. One of the same kind whose text is another is told as well, as
a second server that is away is news; but once a minute at most: one outage has many texts.
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
    """Of one thing that is tried, one after the other."""

    def __init__(self) -> None:
        self._told: _Told | None = None

    def begins(self, trouble: Exception, now_seconds: float) -> bool:
        """Whether this one has to be told: it is another one than was told last."""
        # How long somebody waited makes it no other trouble.
        it = _Told(type(trouble), DURATION.sub("", str(trouble)), now_seconds)
        last = self._told
        if last and last.kind is it.kind:
            is_late = now_seconds - last.at_seconds >= AGAIN_SECONDS
            if last.text == it.text or not is_late:
                return False
        self._told = it
        return True

    def end(self) -> bool:
        """Whether there was one, which is over now; the next one is told whatever it is."""
        last, self._told = self._told, None
        return last is not None
