"""Totals of parts that may be unknown: a sum with an unknown part is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar, cast

Number = TypeVar("Number", int, float)


def total(parts: Iterable[Number | None]) -> Number | None:
    """Returns the sum; None when a part is unknown, or when there are no parts."""
    found = _known(parts)
    return sum(found[1:], found[0]) if found else None


def largest(parts: Iterable[float | None]) -> float | None:
    """Returns the largest part; None when a part is unknown, or when there are no parts."""
    return max(_known(parts), default=None)


def _known(parts: Iterable[Number | None]) -> list[Number]:
    """Returns the parts; none of them when one is unknown."""
    found = list(parts)
    return [] if None in found else cast("list[Number]", found)
