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
    That is little where the largest has nearly all of a load: either it stays, and many small ones
    go, or another carrier makes room for it. Two carriers could make use of the same room, so this
    is counted for one of them, where it counts most.

    Returns: more than there are items, where some carrier's base alone is above the limit.
    """
    needed = {
        at: _fewest(packing.largest(at), _over(packing, at, limit)) for at in packing.above(limit)
    }
    more = 0
    for carrier, count in needed.items():
        largest = packing.largest(carrier)
        if_it_stays = _fewest(largest[1:], _over(packing, carrier, limit)) - count
        if if_it_stays > more:
            if_it_goes = _room_for(packing, carrier, float(largest[0]), limit, needed)
            more = max(more, min(if_it_stays, if_it_goes))
    return sum(needed.values()) + more


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
