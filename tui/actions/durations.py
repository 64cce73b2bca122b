"""Durations of orders, as typed on the command line, and instants formatted for people."""

from __future__ import annotations

from datetime import UTC, datetime

from replicator.audit.window import AGO, UNITS_MS


class BadDuration(ValueError):
    """The given text is no duration. The message says how one is written."""


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


def instant(at_ms: int | None) -> str | None:
    """Formats a Unix time as 2026-11-22T03:00:00Z; None stays None."""
    if at_ms is None:
        return None
    try:
        return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (OverflowError, ValueError, OSError):
        return f"{at_ms} ms"
