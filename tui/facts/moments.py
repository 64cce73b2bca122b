"""Moments as text for people, in UTC. A number that no calendar has is UNKNOWN, never an error."""

from __future__ import annotations

from datetime import UTC, datetime

UNKNOWN = "?"
MILLISECONDS = 1000
SAME_DAY_SECONDS = 12 * 3600
CLOCK = "%H:%M:%S"
DATE = "%Y-%m-%d %H:%M:%S"
ISO = "%Y-%m-%dT%H:%M:%S"


def clock_text(at: float) -> str:
    """Returns a time of day: 14:02:31."""
    return _text(at, CLOCK)


def date_text(at: float) -> str:
    """Returns day and time: 2026-11-21 14:02:31."""
    return _text(at, DATE)


def since_text(at: float, now: float) -> str:
    """Returns a moment: 14:02:10Z, with the date when it is long ago."""
    return f"{_text(at, CLOCK if abs(now - at) < SAME_DAY_SECONDS else DATE)}Z"


def iso_text(at_ms: int) -> str:
    """Returns a time in milliseconds in ISO 8601: 2026-11-21T14:02:31+00:00."""
    return _text(at_ms, f"{ISO}+00:00", MILLISECONDS)


def iso_zulu_text(at_ms: int) -> str:
    """Returns a time in milliseconds in the short form: 2026-11-21T14:02:31Z."""
    return _text(at_ms, f"{ISO}Z", MILLISECONDS)


def utc_text(at_ms: int) -> str:
    """Returns a time in milliseconds as day and time: 2026-11-21 14:02:31Z."""
    return _text(at_ms, f"{DATE}Z", MILLISECONDS)


def _text(at: float, form: str, per_second: int = 1) -> str:
    # What others wrote may be any number: a year after 9999, or no number at all.
    try:
        return datetime.fromtimestamp(at / per_second, UTC).strftime(form)
    except (ValueError, OverflowError, OSError):
        return UNKNOWN
