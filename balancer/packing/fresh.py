"""Everything placed anew: longest first, then exchanges until the heaviest is near the bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from balancer.packing.bounds import heaviest_at_least
from balancer.packing.exchange import Effort, relieve
from balancer.packing.longest_first import longest_first
from balancer.packing.packing import Packing
from balancer.packing.shares import Shares, checked

TOLERANCE = 2e-4
"""How far above the bound, as a part of it, the heaviest carrier may stay."""
STEPS = (0.2, 0.02)
"""Of what is above the bound, such a part is taken away at a time; the smaller one where no row of
exchanges takes the larger one away."""


def packed(shares: Shares, base: Shares, room: NDArray[np.int64] | None = None) -> Packing:
    """A packing whose heaviest carrier is near the least that is possible.

    Args:
        base: by carrier, a load of its own that stays.
        room: by carrier, how many items it may hold; what finds no room stays HOMELESS. The bound
            knows nothing of room: with little of it the heaviest may stay far above.

    Raises:
        BadShare; ValueError: there is no carrier.
    """
    shares = checked(shares)
    bound = heaviest_at_least(shares, len(base), base)
    packing = Packing(shares, longest_first(shares, base, room), base, room)
    level(packing, bound)
    return packing


def level(packing: Packing, bound: float) -> None:
    """Exchanges until the heaviest carrier is within TOLERANCE of the bound, or none helps."""
    goal = bound * (1 + TOLERANCE)
    effort = Effort()
    for step in STEPS:
        while packing.above(goal):
            above = packing.heaviest - bound
            if not relieve(packing, max(goal, bound + (1 - step) * above), effort):
                break
