"""Certificate: a number of moves that any plan needs, as the measure of a plan's own moves."""

from __future__ import annotations

import numpy as np

from balancer.packing.bounds import ROUNDING
from balancer.packing.packing import Packing
from balancer.packing.shares import UNPLACED, Shares

LARGER_MAX = 32
"""Maximum number of sizes that are examined as that of the largest moved item."""


def moves_at_least(packing: Packing, limit: float, larger_max: int = LARGER_MAX) -> int:
    """Returns the certificate: a lower bound for the moves of any plan within the limit.

    A carrier above the limit gives away at least as many items as its largest ones must be to cover
    its excess. That count is too low when the largest items fit on no other carrier. Then either
    they stay and many small ones leave, or another carrier makes room for one of them. Two carriers
    could use the same room, so this addition is counted once: for the carrier where it is highest.

    Args:
        packing: packing before any move.
        limit: load that no carrier may exceed.
        larger_max: number of sizes that are examined as that of the largest moved item.

    Returns: more than the number of items when the base of a carrier alone is above the limit.
    """
    givers = _Givers(packing, limit, larger_max)
    needed = {at: givers.fewest(at) for at in packing.above(limit)}
    more = 0
    for carrier, count in needed.items():
        largest = givers.largest(carrier)
        for some in _too_large(packing, carrier, largest, limit):
            if_they_stay = givers.fewest(carrier, besides=some) - count
            if if_they_stay > more:
                if_one_goes = givers.room_for(float(largest[some - 1]), more)
                more = max(more, min(if_they_stay, if_one_goes))
    return sum(needed.values()) + more


def _too_large(packing: Packing, carrier: int, largest: Shares, limit: float) -> set[int]:
    """Returns the sizes of the groups of largest items that are examined.

    One group is the largest item alone, the other all items that fit on no other carrier as it is.
    """
    others = np.delete(packing.loads, carrier)
    room = limit * (1 + ROUNDING) - float(others.min(initial=np.inf))
    return {1, int((largest > room).sum())} & set(range(1, len(largest) + 1))


class _Givers:
    """Numbers of items that the carriers of a packing have to give away."""

    def __init__(self, packing: Packing, limit: float, larger_max: int) -> None:
        self._packing, self._larger_max = packing, larger_max
        self._over = packing.loads - limit * (1 + ROUNDING)  # the tolerance of `Packing.above`
        self._largest: dict[int, Shares] = {}

    def largest(self, carrier: int) -> Shares:
        """Returns the shares of a carrier's items, the largest first."""
        if carrier not in self._largest:
            self._largest[carrier] = self._packing.largest(carrier)
        return self._largest[carrier]

    def fewest(
        self, carrier: int, *, share: float = 0.0, at_most: float = np.inf, besides: int = 0
    ) -> int:
        """Returns the fewest items that a carrier gives away to be within the limit.

        Returns more than the number of all items when giving away cannot achieve that.

        Args:
            share: load that the carrier receives in addition.
            at_most: largest share that may be given away.
            besides: number of its largest items that stay.
        """
        over = float(self._over[carrier]) + share
        if over <= 0:
            return 0
        largest = self.largest(carrier)
        sums = np.cumsum(largest[max(besides, int(np.searchsorted(-largest, -at_most))) :])
        count = int(np.searchsorted(sums, over * (1 - ROUNDING))) + 1
        return count if count <= len(sums) else len(self._packing.shares) + 1

    def room_for(self, share: float, more_than: int) -> int:
        """Returns the fewest additional items that move when an item of at least that share moves.

        The items that carriers have to give away in any case do not count. The carrier that
        receives the largest moved item can free room only with items that are not larger: a larger
        one would itself be the largest moved item.

        Args:
            share: least share of the moved item.
            more_than: the search ends at the first result that is not above this number.
        """
        least = len(self._packing.shares)
        for larger, at_most in self._larger(share):
            for carrier in self._takers(larger, at_most):
                given = self.fewest(carrier, share=larger, at_most=at_most)
                least = min(least, given - self.fewest(carrier))
                if least <= more_than:
                    return least
        return least

    def _larger(self, share: float) -> list[tuple[float, float]]:
        """Returns candidates for the largest moved item, each with a limit for the others.

        No item larger than the limit moves beside the candidate. When there are more than
        `larger_max` candidates, the last one stands for all larger ones, and its limit is infinite.
        """
        packing = self._packing
        placed = packing.shares[packing.where != UNPLACED]
        larger = np.unique(placed[placed >= share])
        found = [(float(each), float(each)) for each in larger[: self._larger_max]]
        if len(larger) > self._larger_max:
            found[-1] = (found[-1][0], np.inf)
        return found

    def _takers(self, larger: float, at_most: float) -> list[int]:
        """Returns the carriers that may receive an item of the share `larger`.

        A carrier that holds all items of that share receives none, unless the candidate stands for
        larger items, too.
        """
        holders = self._packing.where[self._packing.shares == larger]
        holders = np.unique(holders[holders != UNPLACED])
        keeps = int(holders[0]) if len(holders) == 1 and at_most == larger else None
        return [carrier for carrier in range(len(self._over)) if carrier != keeps]
