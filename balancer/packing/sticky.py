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
from balancer.packing.packing import Items, Packing
from balancer.packing.shares import HOMELESS, Carriers, Shares, checked

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
        is_within: whether none is; also where some are HOMELESS.
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
        room: by carrier, how many items it may hold; any number, unless given. What had a carrier
            keeps one, and the limit knows nothing of room.

    Raises:
        BadShare; ValueError: there is no carrier, or items are on others.
    """
    shares = checked(shares)
    limit = heaviest_at_least(shares, len(base), base) * (1 + slack)
    packing = Packing(shares, where, base, room)
    certificate = moves_at_least(packing, limit)
    packing.house(np.flatnonzero(where == HOMELESS))
    for _ in range(ROUNDS_MAX):
        if not _lower(packing, limit):
            break
    is_within = relieve(packing, limit, Effort())
    moved = (where != HOMELESS) & (packing.where != where)
    return Repair(packing.where, int(moved.sum()), certificate, limit, is_within)


def _lower(packing: Packing, limit: float) -> bool:
    """Whether any carrier above the limit found items to give away; they go where least is."""
    shed = {carrier: _shed(packing, carrier, limit) for carrier in packing.above(limit)}
    for carrier, items in shed.items():
        packing.take(items, carrier)
    all_shed = np.concatenate([np.empty(0, dtype=np.int64), *shed.values()])
    packing.house(all_shed)
    for carrier, items in shed.items():
        # What found no room is no worse off than before.
        packing.give(items[packing.where[items] == HOMELESS], carrier)
    return len(all_shed) > 0


def _shed(packing: Packing, carrier: int, limit: float) -> Items:
    """As few items as bring a carrier to the limit, the last of them as small as may be; only such
    as the lightest of the others can take. None where that is not enough."""
    none = np.empty(0, dtype=np.int64)
    roomy = np.flatnonzero(packing.counts < packing.room)
    roomy = roomy[roomy != carrier]
    if not len(roomy):
        return none
    held = packing.held(carrier)
    largest = held[np.argsort(-packing.shares[held], kind="stable")]
    largest = largest[packing.shares[largest] <= limit - packing.loads[roomy].min()]
    shares = packing.shares[largest]
    sums = np.concatenate([[0.0], np.cumsum(shares)])
    over = float(packing.loads[carrier]) - limit
    count = int(np.searchsorted(sums, over))
    if count > len(largest):
        return none
    needed = over - sums[count - 1]
    last = max(count - 1, int(np.searchsorted(-shares, -needed, side="right")) - 1)
    return np.append(largest[: count - 1], largest[last])
