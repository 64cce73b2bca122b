"""Durations of orders, as operators type them."""

from __future__ import annotations

from replicator.audit.window import AGO, UNITS_MS

DAYS_MAX = 3650
"""Longest duration, in days; a time after the year 9999 could be shown nowhere."""


class BadDuration(ValueError):
    """The text is no duration. The message says how to write one."""


def milliseconds(text: str) -> int:
    """Converts 90s, 30m, 2h or 7d to milliseconds. Raises BadDuration."""
    found = AGO.fullmatch(text)
    length = int(found["number"]) * UNITS_MS[found["unit"]] if found else 0
    if not length:
        raise BadDuration(f"{text!r} is no length of time such as 90s, 30m, 2h or 7d")
    if length > DAYS_MAX * UNITS_MS["d"]:
        raise BadDuration(f"{text!r} is longer than {DAYS_MAX}d")
    return length


def until_ms(holds_for: str | None, now_ms: int) -> int | None:
    """Returns the Unix time at which an order of this duration ends. Raises BadDuration.

    None means that the order holds until it is taken back.
    """
    return None if holds_for is None else now_ms + milliseconds(holds_for)
