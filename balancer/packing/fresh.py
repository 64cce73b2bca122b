"""Packs everything anew: longest first, then exchanges until the heaviest is near the bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from balancer.packing.bounds import heaviest_at_least
from balancer.packing.exchange import Effort, relieve
from balancer.packing.longest_first import longest_first
from balancer.packing.packing import Packing
from balancer.packing.shares import Shares, checked

TOLERANCE = 2e-4
"""Distance above the bound, as a part of the bound, that the heaviest carrier may keep."""
STEPS = (0.2, 0.02)
"""Parts of the distance to the bound that one step removes. The second, smaller part is used once
no chain of exchanges removes the first."""


def packed(shares: Shares, base: Shares, room: NDArray[np.int64] | None = None) -> Packing:
    """Returns a packing whose heaviest carrier is near the lower bound.

    Args:
        shares: share of each item.
        base: load of each carrier that cannot be moved away.
        room: maximum number of items of each carrier; None for no maximum. Items that find no room
            stay UNPLACED. The bound ignores room: with little room the heaviest carrier may stay
            far above it.

    Raises:
        BadShare: a share is no valid load.
        ValueError: there is no carrier.
    """
    shares = checked(shares)
    bound = heaviest_at_least(shares, len(base), base)
    packing = Packing(shares, longest_first(shares, base, room), base, room)
    level(packing, bound)
    return packing


def level(packing: Packing, bound: float) -> None:
    """Exchanges items until the heaviest carrier is within TOLERANCE of the bound or none helps."""
    goal = bound * (1 + TOLERANCE)
    effort = Effort()
    for step in STEPS:
        while packing.above(goal):
            heaviest = packing.heaviest
            limit = max(goal, bound + (1 - step) * (heaviest - bound))
            # Of denormal loads the limit rounds back to the heaviest, which is no progress.
            if limit >= heaviest or not relieve(packing, limit, effort):
                break
