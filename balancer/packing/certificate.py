"""How many items any plan has to move, so that a plan's own moves can be judged."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from balancer.packing.bounds import ROUNDING
from balancer.packing.packing import Packing
from balancer.packing.shares import Shares


def moves_at_least(packing: Packing, limit: float) -> int:
    """The certificate: so many items move in any plan that has no carrier above the limit.

    Of each carrier above it, as many as its largest must be to make up for what it has too much.
    That is little where the largest are too large to go anywhere: either they stay, and many small
    ones go, or another carrier makes room for one of them. Two carriers could make use of the same
    room, so this is counted for one of them, where it counts most.

    Returns: more than there are items, where some carrier's base alone is above the limit.
    """
    needed = {
        at: _fewest(packing.largest(at), _over(packing, at, limit)) for at in packing.above(limit)
    }
    more = 0
    for carrier, count in needed.items():
        largest = packing.largest(carrier)
        for some in _too_large(packing, carrier, largest, limit):
            if_they_stay = _fewest(largest[some:], _over(packing, carrier, limit)) - count
            if if_they_stay > more:
                smallest = float(largest[some - 1])
                if_one_goes = _room_for(packing, carrier, smallest, limit, needed)
                more = max(more, min(if_they_stay, if_one_goes))
    return sum(needed.values()) + more


def _too_large(packing: Packing, carrier: int, largest: Shares, limit: float) -> set[int]:
    """How many of the largest to ask about: the one that leaves most to be made up for, and all
    that no other carrier has room for as it is."""
    others = np.delete(packing.loads, carrier)
    room = limit * (1 + ROUNDING) - float(others.min(initial=np.inf))
    return {1, int((largest > room).sum())} & set(range(1, len(largest) + 1))


def _room_for(
    packing: Packing, carrier: int, share: float, limit: float, needed: Mapping[int, int]
) -> int:
    """How many items one of the other carriers gives away at least so that it can take such a
    share, beside those that it gives away in any case."""
    return min(
        (
            _fewest(packing.largest(other), _over(packing, other, limit) + share)
            - needed.get(other, 0)
            for other in range(len(packing.loads))
            if other != carrier
        ),
        default=len(packing.shares),
    )


def _over(packing: Packing, carrier: int, limit: float) -> float:
    """What it has above the limit: the one of `Packing.above`."""
    return float(packing.loads[carrier]) - limit * (1 + ROUNDING)


def _fewest(largest: Shares, over: float) -> int:
    """How many of them make so much together at the least; one more than all, where they do not."""
    if over <= 0:
        return 0
    return int(np.searchsorted(np.cumsum(largest), over * (1 - ROUNDING))) + 1
