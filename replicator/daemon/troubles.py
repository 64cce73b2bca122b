"""What keeps something from being done that is tried again and again: told, and not told all day.

The same trouble is one telling however often it is met. Another one is told too, be it of the same
kind: a second server that is away is news.
"""

from __future__ import annotations

import re

AGAIN_SECONDS = 60.0
TEXTS_MAX = 5
"""So many different ones are told in that time: some texts are never the same twice."""
DURATION = re.compile(r"\b\d+(\.\d+)? ?(ms|s)\b")


class Troubles:
    """Of one thing that is tried, one after the other."""

    def __init__(self) -> None:
        self._now: str | None = None
        self._told_at_seconds: dict[str, float] = {}

    def begins(self, trouble: Exception, now_seconds: float) -> bool:
        """Whether this has to be told: it was not met last time, nor told within a minute."""
        # How long somebody waited makes it no other trouble.
        text = f"{type(trouble).__name__}: {DURATION.sub('', str(trouble))}"
        before, self._now = self._now, text
        self._told_at_seconds = {
            it: at for it, at in self._told_at_seconds.items() if now_seconds - at < AGAIN_SECONDS
        }
        told = self._told_at_seconds
        if text == before or text in told or len(told) >= TEXTS_MAX:
            return False
        told[text] = now_seconds
        return True

    def end(self) -> bool:
        """Whether there was one, which is over now; the next one is told whatever it is."""
        before, self._now = self._now, None
        self._told_at_seconds.clear()
        return before is not None
