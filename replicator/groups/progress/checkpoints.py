"""Offsets carried over by checkpoints: Uber's offset management, as its article describes it.

A mirror notes now and then where a source offset landed. A group's position in one aggregate then
gives a position in another one that skips nothing. The closer the checkpoints, the less is read
again. aggregate.py does the same on all runs; checkpoints are its lower bound.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Checkpoint(NamedTuple):
    """Pair of offsets: the record at source_offset landed at target_offset."""

    source_offset: int
    target_offset: int


def carried_over(
    position: int,
    here: Mapping[str, Sequence[Checkpoint]],
    there: Mapping[str, Sequence[Checkpoint]],
) -> int | None:
    """Returns the offset from which to read on in the other aggregate.

    None when too little is known: read from its beginning.

    Args:
        position: the next offset that the group reads here.
        here, there: by source region, its checkpoints into this aggregate and into the other one,
            ascending.
    """
    places = []
    for region, checkpoints in here.items():
        passed = _at_or_before(checkpoints, position, 1)
        landed = passed and _at_or_before(there.get(region, ()), passed.source_offset, 0)
        if not landed:
            return None
        places.append(landed.target_offset)
    return min(places, default=None)


def _at_or_before(checkpoints: Sequence[Checkpoint], offset: int, field: int) -> Checkpoint | None:
    found = bisect_right(checkpoints, offset, key=lambda checkpoint: checkpoint[field])
    return checkpoints[found - 1] if found else None
