"""A packing while it is searched: which carrier holds which items, and what that makes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from balancer.packing.bounds import ROUNDING
from balancer.packing.longest_first import longest_first
from balancer.packing.shares import HOMELESS, Carriers, Shares

Items = NDArray[np.int64]


class Packing:
    """Changed in place.

    Args:
        shares: by item.
        where: by item, its carrier; copied.
        base: by carrier, a load of its own that cannot be moved away.
        room: by carrier, how many items it may hold; any number, unless given.
    """

    def __init__(
        self, shares: Shares, where: Carriers, base: Shares, room: NDArray[np.int64] | None = None
    ):
        self.shares = shares
        self.where = where.copy()
        carriers = len(base)
        self.room = np.full(carriers, len(shares) + 1) if room is None else room
        placed = self.where != HOMELESS
        self.loads = base + np.bincount(self.where[placed], shares[placed], carriers)
        order = np.argsort(self.where, kind="stable")
        edges = np.searchsorted(self.where[order], np.arange(carriers + 1))
        self.counts = np.diff(edges)
        self._held: list[Items] = np.split(order, edges)[1 : carriers + 1]

    @property
    def heaviest(self) -> float:
        """The load of the carrier that carries most."""
        return float(self.loads.max(initial=0.0))

    def above(self, limit: float) -> list[int]:
        """The carriers above a limit, by more than what rounding adds to it; the heaviest first."""
        above = np.flatnonzero(self.loads > limit * (1 + ROUNDING))
        return [int(at) for at in above[np.argsort(-self.loads[above], kind="stable")]]

    def held(self, carrier: int) -> Items:
        """The items of a carrier."""
        return self._held[carrier]

    def largest(self, carrier: int) -> Shares:
        """The shares of its items, the largest first."""
        return -np.sort(-self.shares[self._held[carrier]])

    def put(self, item: int, carrier: int) -> None:
        """An item, wherever it is, goes to a carrier; HOMELESS: to none."""
        before = int(self.where[item])
        share = self.shares[item]
        if before != HOMELESS:
            held = self._held[before]
            self._held[before] = held[held != item]
            self.loads[before] -= share
            self.counts[before] -= 1
        if carrier != HOMELESS:
            self._held[carrier] = np.append(self._held[carrier], item)
            self.loads[carrier] += share
            self.counts[carrier] += 1
        self.where[item] = carrier

    def house(self) -> None:
        """What is homeless goes, the largest first, where least is; what finds no room stays so."""
        homeless = np.flatnonzero(self.where == HOMELESS)
        chosen = longest_first(self.shares[homeless], self.loads, self.room - self.counts)
        for item, carrier in zip(homeless.tolist(), chosen.tolist(), strict=True):
            self.put(item, carrier)
