"""Packing during a search: the items of each carrier, with its load and item count."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from balancer.packing.bounds import ROUNDING
from balancer.packing.longest_first import longest_first
from balancer.packing.shares import UNPLACED, Carriers, Shares

Items = NDArray[np.int64]


class Packing:
    """Assignment of items to carriers; its methods change it in place.

    Args:
        shares: share of each item.
        where: carrier of each item; copied.
        base: load of each carrier that cannot be moved away.
        room: maximum number of items of each carrier; None for no maximum.

    Raises ValueError when an item is on a carrier that does not exist.
    """

    def __init__(
        self, shares: Shares, where: Carriers, base: Shares, room: NDArray[np.int64] | None = None
    ):
        carriers = len(base)
        if len(where) and not UNPLACED <= where.min() <= where.max() < carriers:
            raise ValueError(f"items on carriers {where.min()} to {where.max()}, of {carriers}")
        self.shares = shares
        self.where = where.copy()
        self.room = np.full(carriers, len(shares) + 1) if room is None else room
        placed = self.where != UNPLACED
        self.loads = base + np.bincount(self.where[placed], shares[placed], carriers)
        self._held: list[Items] = _by_carrier(np.arange(len(shares)), self.where, carriers)
        self.counts = np.array([len(items) for items in self._held], dtype=np.int64)

    @property
    def heaviest(self) -> float:
        """Load of the heaviest carrier."""
        return float(self.loads.max(initial=0.0))

    def above(self, limit: float) -> list[int]:
        """Returns the carriers that exceed a limit by more than rounding, the heaviest first."""
        above = np.flatnonzero(self.loads > limit * (1 + ROUNDING))
        return [int(at) for at in above[np.argsort(-self.loads[above], kind="stable")]]

    def held(self, carrier: int) -> Items:
        """Returns the items of a carrier."""
        return self._held[carrier]

    def largest(self, carrier: int) -> Shares:
        """Returns the shares of a carrier's items, the largest first."""
        return -np.sort(-self.shares[self._held[carrier]])

    def take(self, items: Items, carrier: int) -> None:
        """Removes items from their carrier; they become unplaced."""
        held = self._held[carrier]
        self._set(carrier, held[~np.isin(held, items)], items, UNPLACED)
        self.loads[carrier] -= self.shares[items].sum()

    def give(self, items: Items, carrier: int) -> None:
        """Puts unplaced items on a carrier."""
        self._set(carrier, np.append(self._held[carrier], items), items, carrier)
        self.loads[carrier] += self.shares[items].sum()

    def _set(self, carrier: int, held: Items, items: Items, where: int) -> None:
        self._held[carrier] = held
        self.counts[carrier] = len(held)
        self.where[items] = where

    def place(self, unplaced: Items) -> None:
        """Places unplaced items, the largest first, each on the lightest carrier with room.

        Items that find no room stay unplaced.
        """
        chosen = longest_first(self.shares[unplaced], self.loads, self.room - self.counts)
        for carrier, items in enumerate(_by_carrier(unplaced, chosen, len(self.loads))):
            if len(items):
                self.give(items, carrier)


def _by_carrier(items: Items, where: Carriers, carriers: int) -> list[Items]:
    order = np.argsort(where, kind="stable")
    edges = np.searchsorted(where[order], np.arange(carriers + 1))
    return np.split(items[order], edges)[1 : carriers + 1]
