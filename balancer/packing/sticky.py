"""Sticky packing: moves only the items that a limit demands, and proves how few would do.

The limit of every carrier is `slack` above the lower bound of the heaviest carrier. The
*certificate* is a number of items that any plan has to move to keep within the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from balancer.packing.bounds import heaviest_at_least
from balancer.packing.certificate import moves_at_least
from balancer.packing.exchange import Effort, relieve
from balancer.packing.packing import Items, Packing
from balancer.packing.shares import UNPLACED, Carriers, Shares, checked

ROUNDS_MAX = 6
"""Maximum number of rounds: the items moved in one round may push another carrier above the
limit."""


@dataclass(frozen=True, slots=True)
class Repair:
    """Packing that was made from another one.

    Args:
        where: carrier of each item; UNPLACED when no carrier had room.
        moves: number of items that had a carrier and have another one now.
        certificate: number of moves that any packing within the limit needs.
        limit: load that no carrier should exceed.
        is_within: True when no carrier exceeds it, even if some items are UNPLACED.
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
    """Returns a packing with few moves; unplaced items get a carrier, the largest first.

    Args:
        shares: share of each item.
        where: current carrier of each item, or UNPLACED.
        base: load of each carrier that cannot be moved away.
        slack: distance of the limit above the lower bound, as a part of the bound.
        room: maximum number of items of each carrier; None for no maximum. An item that had a
            carrier keeps one even without room. The limit ignores room.

    Raises:
        BadShare: a share is no valid load.
        ValueError: there is no carrier, or an item is on a carrier that does not exist.
    """
    shares = checked(shares)
    limit = heaviest_at_least(shares, len(base), base) * (1 + slack)
    packing = Packing(shares, where, base, room)
    certificate = moves_at_least(packing, limit)
    packing.place(np.flatnonzero(where == UNPLACED))
    for _ in range(ROUNDS_MAX):
        if not _lower(packing, limit):
            break
    is_within = relieve(packing, limit, Effort())
    moved = (where != UNPLACED) & (packing.where != where)
    return Repair(packing.where, int(moved.sum()), certificate, limit, is_within)


def _lower(packing: Packing, limit: float) -> bool:
    """Takes items off the carriers above the limit and puts each on the lightest carrier.

    Returns True when there were such items.
    """
    shed = {carrier: _shed(packing, carrier, limit) for carrier in packing.above(limit)}
    for carrier, items in shed.items():
        packing.take(items, carrier)
    all_shed = np.concatenate([np.empty(0, dtype=np.int64), *shed.values()])
    packing.place(all_shed)
    for carrier, items in shed.items():
        # Items that found no room go back to their carrier.
        packing.give(items[packing.where[items] == UNPLACED], carrier)
    return len(all_shed) > 0


def _shed(packing: Packing, carrier: int, limit: float) -> Items:
    """Returns the fewest items whose removal brings a carrier to the limit.

    The last of them is as small as possible. Only items that fit within the limit on the lightest
    other carrier with room count; returns no items when these do not suffice.
    """
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
