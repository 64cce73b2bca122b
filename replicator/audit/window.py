"""Window of time that an audit compares, as given on a command line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

MINUTE_MS = 60_000
FULL_MS = 10 * MINUTE_MS
SETTLED_MS = MINUTE_MS
"""Time since the end of a default window: by then its records are mirrored."""
UNITS_MS = {"s": 1000, "m": MINUTE_MS, "h": 60 * MINUTE_MS, "d": 24 * 60 * MINUTE_MS}
AGO = re.compile(r"(?P<number>[0-9]{1,9})(?P<unit>[smhd])")


class BadWindow(ValueError):
    """The request is no range of time. Ask again; the text says how."""


@dataclass(frozen=True, slots=True)
class Window:
    """Range of time: from since_ms on, before until_ms; milliseconds since 1970."""

    since_ms: int
    until_ms: int

    def __str__(self) -> str:
        return f"{iso(self.since_ms)} to {iso(self.until_ms)}"


def window(since: str | None, until: str | None, now_ms: int) -> Window:
    """Returns the requested window; raises BadWindow.

    The default is the last full ten minutes of the clock that ended a minute ago or more. So a
    timer's audits, however late each of them starts, compare every record once.

    Args:
        since, until: `10m`, `2h` (so long ago), or an instant of ISO 8601 with its zone. `until` is
            now unless given.
    """
    if since is None:
        if until is not None:
            raise BadWindow("--until needs --since")
        end_ms = (now_ms - SETTLED_MS) // FULL_MS * FULL_MS
        return Window(end_ms - FULL_MS, end_ms)
    found = Window(instant(since, now_ms), now_ms if until is None else instant(until, now_ms))
    if found.since_ms >= found.until_ms:
        raise BadWindow(f"the window is empty: {found}")
    return found


def instant(text: str, now_ms: int) -> int:
    """Returns milliseconds since 1970; raises BadWindow."""
    if ago := AGO.fullmatch(text):
        at_ms = now_ms - int(ago["number"]) * UNITS_MS[ago["unit"]]
    else:
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise BadWindow(
                f"{text!r} is neither a length of time such as 10m, 2h or 1d, nor an instant such "
                "as 2026-11-22T03:00:00Z"
            ) from None
        if at.tzinfo is None:
            raise BadWindow(f"{text!r} needs a zone: 2026-11-22T03:00:00Z, ...T03:00:00+02:00")
        at_ms = round(at.timestamp() * 1000)
    if at_ms < 0:
        raise BadWindow(f"{text!r} is before 1970")
    return at_ms


def iso(at_ms: int) -> str:
    """Returns the text for people and programs: 2026-11-22T03:00:00Z."""
    try:
        text = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return f"{at_ms} ms"
    return text.replace("+00:00", "Z")
