"""Which numbers a route's carriers have: as many as are wanted, and the same as before."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import count

ALIKE = 0.05
"""Loads that differ by less, of a carrier's time, are about the same."""


def numbered(
    wanted: int,
    present: Collection[int],
    loads: Mapping[int, float],
    pinned: Collection[int],
    excluded: Collection[int],
) -> tuple[int, ...]:
    """The numbers, in order.

    Of too many those with the least load go, of about equal ones the highest number; none that
    something is pinned to, so that more may be left than are wanted. What lacks gets the lowest
    numbers that are free.

    Args:
        excluded: numbers that are not used; others take their place.
    """
    usable = sorted(set(present) - set(excluded))
    free = [at for at in usable if at not in pinned]
    free.sort(key=lambda at: (int(loads.get(at, 0.0) / ALIKE), -at))
    kept = set(usable) - set(free[: max(0, len(usable) - wanted)])
    taken = kept | set(excluded)
    new = (number for number in count() if number not in taken)
    return tuple(sorted(kept | {next(new) for _ in range(wanted - len(kept))}))
