"""What stays stays: only what a limit demands is moved, with a proof of how little could be.

No carrier shall be above a limit, `slack` above the least that the heaviest can have. How many
items any plan has to move for that is the *certificate*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from balancer.packing.bounds import heaviest_at_least
from balancer.packing.certificate import moves_at_least
from balancer.packing.exchange import Effort, relieve
from balancer.packing.packing import Packing
from balancer.packing.shares import HOMELESS, Carriers, Shares

ROUNDS_MAX = 6
"""What was placed may burden a carrier anew."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A packing made from another one.

    Args:
        where: by item, its carrier; HOMELESS where none had room.
        moves: items that had a carrier and have another one now.
        certificate: moves that any packing within the limit needs.
        limit: what no carrier was to be above.
        is_within: whether none is.
    """

    where: Carriers
    moves: int
    certificate: int
    limit: float
    is_within: bool


def repaired(
    shares: Shares,
    where: Carriers,
    base: Shares,
    slack: float,
    room: NDArray[np.int64] | None = None,
) -> Repair:
    """The packing with few moves; what is homeless finds a carrier, the largest first.

    Args:
        where: by item, the carrier that holds it, or HOMELESS.
        base: by carrier, a load of its own that stays.
        slack: how far above the bound, as a part of it, the heaviest carrier may be.
        room: by carrier, how many items it may hold; any number, unless given.
    """
    limit = heaviest_at_least(shares, len(base), base) * (1 + slack)
    packing = Packing(shares, where, base, room)
    certificate = moves_at_least(packing, limit)
    packing.house()
    for _ in range(ROUNDS_MAX):
        for carrier in packing.above(limit):
            for item in _shed(packing, carrier, limit):
                packing.put(item, HOMELESS)
        packing.house()
    is_within = relieve(packing, limit, Effort())
    moved = (where != HOMELESS) & (packing.where != where)
    return Repair(packing.where, int(moved.sum()), certificate, limit, is_within)


def _shed(packing: Packing, carrier: int, limit: float) -> list[int]:
    """As few items as bring a carrier to the limit, and of these the smallest; only such as find
    room elsewhere. None where that is not possible."""
    free = limit - float(packing.loads.min())
    held = packing.held(carrier)
    order = held[np.argsort(-packing.shares[held], kind="stable")]
    order = order[packing.shares[order] <= free]
    left = packing.shares[order]
    over = float(packing.loads[carrier]) - limit
    count = int(np.searchsorted(np.cumsum(left), over)) + 1
    if count > len(left):
        return []
    shed: list[int] = []
    for others in range(count - 1, -1, -1):
        # The smallest that is enough once the largest of the others go as well.
        needed = over - float(left[:others].sum())
        at = max(others, int(np.searchsorted(-left, -needed, side="right")) - 1)
        shed.append(int(order[at]))
        over -= float(left[at])
        order, left = np.delete(order, at), np.delete(left, at)
    return shed
