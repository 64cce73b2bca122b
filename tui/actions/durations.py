"""Durations of orders, as operators type them."""

from __future__ import annotations

from replicator.audit.window import AGO, UNITS_MS


class BadDuration(ValueError):
    """The text is no duration. The message says how to write one."""


def milliseconds(text: str) -> int:
    """Converts 90s, 30m, 2h or 7d to milliseconds. Raises BadDuration."""
    found = AGO.fullmatch(text)
    length = int(found["number"]) * UNITS_MS[found["unit"]] if found else 0
    if not length:
        raise BadDuration(f"{text!r} is no length of time such as 90s, 30m, 2h or 7d")
    return length


def until_ms(holds_for: str | None, now_ms: int) -> int | None:
    """Returns the Unix time at which an order of this duration ends. Raises BadDuration.

    None means that the order holds until it is taken back.
    """
    return None if holds_for is None else now_ms + milliseconds(holds_for)
