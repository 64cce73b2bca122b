"""How many items any plan has to move, so that a plan's own moves can be judged."""

from __future__ import annotations

import numpy as np

from balancer.packing.bounds import ROUNDING
from balancer.packing.packing import Packing
from balancer.packing.shares import HOMELESS, Shares

LARGER_MAX = 32
"""So many items are asked about, whether each is the largest that moves."""


def moves_at_least(packing: Packing, limit: float) -> int:
    """The certificate: so many items move in any plan that has no carrier above the limit.

    Of each carrier above it, as many as its largest must be to make up for what it has too much.
    That is little where the largest are too large to go anywhere: either they stay, and many small
    ones go, or another carrier makes room for one of them. Two carriers could make use of the same
    room, so this is counted for one of them, where it counts most.

    Returns: more than there are items, where some carrier's base alone is above the limit.
    """
    givers = _Givers(packing, limit)
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
    """How many of the largest to ask about: the one that leaves most to be made up for, and all
    that no other carrier has room for as it is."""
    others = np.delete(packing.loads, carrier)
    room = limit * (1 + ROUNDING) - float(others.min(initial=np.inf))
    return {1, int((largest > room).sum())} & set(range(1, len(largest) + 1))


class _Givers:
    """How many items carriers have to give away, for this or that."""

    def __init__(self, packing: Packing, limit: float) -> None:
        self._packing = packing
        self._over = packing.loads - limit * (1 + ROUNDING)  # as in `Packing.above`
        self._largest: dict[int, Shares] = {}

    def largest(self, carrier: int) -> Shares:
        """The shares of its items, the largest first."""
        if carrier not in self._largest:
            self._largest[carrier] = self._packing.largest(carrier)
        return self._largest[carrier]

    def fewest(
        self, carrier: int, *, share: float = 0.0, at_most: float = np.inf, besides: int = 0
    ) -> int:
        """How many items it gives away at the least to be within the limit with such a share more;
        more than there are, where that cannot be.

        Args:
            at_most: none of them is larger.
            besides: so many of its largest stay.
        """
        over = float(self._over[carrier]) + share
        if over <= 0:
            return 0
        largest = self.largest(carrier)
        sums = np.cumsum(largest[max(besides, int(np.searchsorted(-largest, -at_most))) :])
        count = int(np.searchsorted(sums, over * (1 - ROUNDING))) + 1
        return count if count <= len(sums) else len(self._packing.shares) + 1

    def room_for(self, share: float, more_than: int) -> int:
        """How many items are given away at the least, beside those that have to be in any case,
        where an item of that share or more moves.

        Whoever takes the largest that moves makes room for it, and with none that is larger: an
        item that goes where a larger one was is not the largest.

        Args:
            more_than: if it is not, any such number is returned.
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
        """Items that may be the largest that moves, and none larger than what moves beside each;
        of many the last stands for all behind it, whatever moves beside them."""
        packing = self._packing
        placed = packing.shares[packing.where != HOMELESS]
        larger = np.unique(placed[placed >= share])
        found = [(float(each), float(each)) for each in larger[:LARGER_MAX]]
        if len(larger) > LARGER_MAX:
            found[-1] = (found[-1][0], np.inf)
        return found

    def _takers(self, larger: float, at_most: float) -> list[int]:
        """Who may take such an item: all but who has all of them already."""
        holders = self._packing.where[self._packing.shares == larger]
        holders = np.unique(holders[holders != HOMELESS])
        keeps = int(holders[0]) if len(holders) == 1 and at_most == larger else None
        return [carrier for carrier in range(len(self._over)) if carrier != keeps]
