"""Number with its noun, for people."""

from __future__ import annotations


def counted(number: int, singular: str, plural: str = "") -> str:
    """Returns a number with its noun: "1 partition", "3 partitions"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
