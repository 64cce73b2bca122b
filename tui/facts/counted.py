"""Number with its noun, for people."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun: "1 partition", "3 partitions"."""
    return f"{number:,} {noun if number == 1 else noun + 's'}"
