"""Numbers of a route's carriers: as many as are wanted, and if possible the same as before."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import count

ALIKE = 0.05
"""Width of a class of loads, as a part of a carrier's time; loads of one class count as equal."""


def numbered(
    wanted: int,
    present: Collection[int],
    loads: Mapping[int, float],
    pinned: Collection[int],
    excluded: Collection[int],
) -> tuple[int, ...]:
    """Returns the numbers, in order.

    Of too many carriers those with the least load go; of about equal ones the highest number goes
    first. Carriers with a pinned partition stay, so more may be left than are wanted. Missing
    carriers get the lowest free numbers.

    Args:
        wanted: number of carriers.
        present: numbers of the previous round.
        loads: load by carrier, as a part of its time.
        pinned: carriers that a partition is pinned to.
        excluded: numbers that are not used; other numbers replace them.
    """
    usable = sorted(set(present) - set(excluded))
    free = [at for at in usable if at not in pinned]
    free.sort(key=lambda at: (int(loads.get(at, 0.0) / ALIKE), -at))
    kept = set(usable) - set(free[: max(0, len(usable) - wanted)])
    taken = kept | set(excluded)
    new = (number for number in count() if number not in taken)
    return tuple(sorted(kept | {next(new) for _ in range(wanted - len(kept))}))
