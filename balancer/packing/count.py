"""The fewest carriers whose packing was found, beside the fewest that any packing can need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from balancer.packing.bounds import ROUNDING, carriers_at_least
from balancer.packing.exchange import Effort, relieve
from balancer.packing.filling import filled
from balancer.packing.longest_first import longest_first
from balancer.packing.packing import Items, Packing
from balancer.packing.shares import HOMELESS, Carriers, Shares, checked

FEW_ITEMS = 2_000
FEW_PER_CARRIER = 8
"""Where there are no more, in all and for each carrier, a real search is worth its time."""
ROUNDS = 30
APART = 0.1
"""In each round so many of the carriers are taken apart and packed anew."""


class Count(NamedTuple):
    """How many carriers do, with the packing that shows it.

    Args:
        at_least: no packing does with fewer; where it is `carriers`, that is proved the optimum.
        where: by item, its carrier.
    """

    carriers: int
    at_least: int
    where: Carriers


def fewest(shares: Shares, capacity: float, items_max: int | None = None) -> Count:
    """The fewest carriers of a capacity for which a packing was found.

    Args:
        items_max: no carrier holds more items.

    Raises:
        BadShare; ValueError: a share is above the capacity, and no number of carriers would do.
    """
    shares = checked(shares)
    largest = float(shares.max(initial=0.0))
    if largest > capacity * (1 + ROUNDING):
        raise ValueError(f"a share of {largest:g} is above the capacity of {capacity:g}")
    at_least = carriers_at_least(shares, capacity, items_max)
    search = _Search(shares, capacity, len(shares) if items_max is None else items_max)
    # Most often the bound does, or one more: only then ever longer steps, and back by halves.
    too_few, step, carriers = at_least - 1, 1, at_least
    while (packing := search.fitting(carriers)) is None:
        too_few, carriers, step = carriers, carriers + step, 2 * step
    while carriers - too_few > 1:
        between = (carriers + too_few) // 2
        fewer = search.fitting(between)
        if fewer is None:
            too_few = between
        else:
            carriers, packing = between, fewer
    return Count(carriers, at_least, packing.where)


class _Search:
    """For packings within a capacity, on a number of carriers."""

    def __init__(self, shares: Shares, capacity: float, items_max: int):
        self._shares, self._capacity, self._items_max = shares, capacity, items_max
        self._filled: list[Items] | None = None

    def fitting(self, carriers: int) -> Packing | None:
        """A packing with all items and no carrier above the capacity; None: none was found."""
        room = np.full(carriers, self._items_max)
        is_hard = len(self._shares) <= min(FEW_ITEMS, FEW_PER_CARRIER * carriers)
        best = self._by_filling(room) if is_hard else self._by_size(room)
        if (best.where == HOMELESS).any():
            return None
        effort = Effort()
        if relieve(best, self._capacity, effort):
            return best
        # The same numbers in each run: the same input gives the same plan.
        random = np.random.default_rng(0)
        for _ in range(ROUNDS if is_hard else 0):
            if effort.is_spent:
                break
            packing = _shaken(best, self._capacity, random)
            if relieve(packing, self._capacity, effort):
                return packing
            if self._excess(packing) <= self._excess(best):
                best = packing
        return None

    def _by_size(self, room: NDArray[np.int64]) -> Packing:
        base = np.zeros(len(room))
        return Packing(self._shares, longest_first(self._shares, base, room), base, room)

    def _by_filling(self, room: NDArray[np.int64]) -> Packing:
        """The fullest carriers as they were filled; what is left goes where least is."""
        shares = self._shares
        if self._filled is None:
            carriers = filled(shares, self._capacity)
            self._filled = sorted(carriers, key=lambda items: -float(shares[items].sum()))
        packing = Packing(shares, np.full(len(shares), HOMELESS), np.zeros(len(room)), room)
        for carrier, items in enumerate(self._filled[: len(room)]):
            packing.give(items[: room[carrier]], carrier)
        packing.house(np.flatnonzero(packing.where == HOMELESS))
        return packing

    def _excess(self, packing: Packing) -> float:
        return float(np.maximum(0.0, packing.loads - self._capacity).sum())


def _shaken(packing: Packing, capacity: float, random: np.random.Generator) -> Packing:
    """Some carriers, and all that are above the capacity, are taken apart, and their items go one
    by one, in any order, where least is."""
    apart = random.random(len(packing.loads)) < APART
    apart[packing.above(capacity)] = True
    carriers = np.flatnonzero(apart)
    items = random.permutation(np.flatnonzero(apart[packing.where]))
    where = packing.where.copy()
    where[items] = HOMELESS
    shaken = Packing(packing.shares, where, np.zeros(len(packing.loads)), packing.room)
    for item in items:
        roomy = carriers[shaken.counts[carriers] < shaken.room[carriers]]
        shaken.give(item.reshape(1), int(roomy[shaken.loads[roomy].argmin()]))
    return shaken
