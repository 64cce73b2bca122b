"""Number of carriers: the fewest with a packing that was found, and a bound for any packing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from balancer.packing.bounds import ROUNDING, carriers_at_least
from balancer.packing.exchange import Effort, relieve
from balancer.packing.longest_first import longest_first
from balancer.packing.packing import Items, Packing
from balancer.packing.shares import UNPLACED, Carriers, Shares, checked

FEW_ITEMS = 2_000
FEW_PER_CARRIER = 8
"""Maximum number of items, in total and per carrier, for which a thorough search is worthwhile."""
ROUNDS = 30
REPACK_PROBABILITY = 0.1
"""Probability with which each of the ROUNDS packs the items of a carrier anew."""
FULL = 5e-4
"""A carrier counts as full when at most this part of its capacity is free."""
THIRDS_MAX = 64
"""Maximum number of third items that are tried, each with the best pair beside it."""


class Count(NamedTuple):
    """Number of carriers that suffices, with the packing that proves it.

    Args:
        carriers: number of carriers of the packing.
        at_least: lower bound for any packing; if it equals `carriers`, that is the proved optimum.
        where: carrier of each item.
    """

    carriers: int
    at_least: int
    where: Carriers


def fewest(shares: Shares, capacity: float, items_max: int | None = None) -> Count:
    """Returns the fewest carriers of a capacity for which a packing was found.

    Args:
        shares: share of each item.
        capacity: maximum load of a carrier.
        items_max: maximum number of items on a carrier; None for no maximum.

    Raises:
        BadShare: a share is no valid load.
        ValueError: a share is above the capacity, so that no number of carriers suffices; or the
            capacity is not above 0, or `items_max` is below 1.
    """
    shares = checked(shares)
    largest = float(shares.max(initial=0.0))
    if largest > capacity * (1 + ROUNDING):
        raise ValueError(f"a share of {largest:g} is above the capacity of {capacity:g}")
    at_least = carriers_at_least(shares, capacity, items_max)
    search = _Search(shares, capacity, len(shares) if items_max is None else items_max)
    # Most often the bound suffices, or one carrier more. Otherwise steps double until a packing is
    # found, and a binary search then narrows the number down.
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
    """Search for packings within a capacity on a given number of carriers."""

    def __init__(self, shares: Shares, capacity: float, items_max: int):
        self._shares, self._capacity, self._items_max = shares, capacity, items_max
        self._filled: list[Items] | None = None

    def fitting(self, carriers: int) -> Packing | None:
        """Returns a packing of all items within the capacity; None when none was found."""
        room = np.full(carriers, self._items_max)
        is_hard = len(self._shares) <= min(FEW_ITEMS, FEW_PER_CARRIER * carriers)
        best = self._by_filling(room) if is_hard else self._by_size(room)
        if (best.where == UNPLACED).any():
            return None
        effort = Effort()
        if relieve(best, self._capacity, effort):
            return best
        # A fixed seed: the same input gives the same plan.
        random = np.random.default_rng(0)
        for _ in range(ROUNDS if is_hard else 0):
            if effort.is_spent:
                break
            packing = _perturbed(best, self._capacity, random)
            if relieve(packing, self._capacity, effort):
                return packing
            if self._excess(packing) <= self._excess(best):
                best = packing
        return None

    def _by_size(self, room: NDArray[np.int64]) -> Packing:
        base = np.zeros(len(room))
        return Packing(self._shares, longest_first(self._shares, base, room), base, room)

    def _by_filling(self, room: NDArray[np.int64]) -> Packing:
        """Keeps the fullest carriers of `filled`; all other items go to the lightest carriers."""
        shares = self._shares
        if self._filled is None:
            carriers = filled(shares, self._capacity)
            self._filled = sorted(carriers, key=lambda items: -float(shares[items].sum()))
        packing = Packing(shares, np.full(len(shares), UNPLACED), np.zeros(len(room)), room)
        for carrier, items in enumerate(self._filled[: len(room)]):
            packing.give(items[: room[carrier]], carrier)
        packing.place(np.flatnonzero(packing.where == UNPLACED))
        return packing

    def _excess(self, packing: Packing) -> float:
        return float(np.maximum(0.0, packing.loads - self._capacity).sum())


def _perturbed(packing: Packing, capacity: float, random: np.random.Generator) -> Packing:
    """Returns the packing with some carriers, and all above the capacity, packed anew.

    Their items go one by one, in random order, to the lightest of these carriers with room.
    """
    is_repacked = random.random(len(packing.loads)) < REPACK_PROBABILITY
    is_repacked[packing.above(capacity)] = True
    carriers = np.flatnonzero(is_repacked)
    items = random.permutation(np.flatnonzero(is_repacked[packing.where]))
    where = packing.where.copy()
    where[items] = UNPLACED
    perturbed = Packing(packing.shares, where, np.zeros(len(packing.loads)), packing.room)
    for item in items:
        roomy = carriers[perturbed.counts[carriers] < perturbed.room[carriers]]
        perturbed.give(item.reshape(1), int(roomy[perturbed.loads[roomy].argmin()]))
    return perturbed


def filled(shares: Shares, capacity: float) -> list[Items]:
    """Returns the items of each carrier: the largest item left, and the best fill for the rest."""
    capacity *= 1 + ROUNDING
    left = np.argsort(shares, kind="stable")
    carriers: list[Items] = []
    while len(left):
        largest = len(left) - 1
        room = capacity - float(shares[left[largest]])
        rest = shares[left[:largest]]
        beside = _best(rest, room, capacity * FULL)
        items = [largest, *beside]
        carriers.append(left[items])
        left = np.delete(left, items)
    return carriers


def _best(ascending: Shares, room: float, free: float) -> tuple[int, ...]:
    """Returns up to three items that leave the least of `room`.

    One item is tried first, then two, then three, until at most `free` is left.
    """
    fits = int(np.searchsorted(ascending, room, side="right"))
    if not fits:
        return ()
    found: tuple[int, ...] = (fits - 1,)
    if room - ascending[fits - 1] <= free or fits < 2:
        return found
    best = float(ascending[fits - 1])
    pair, total = _pair(ascending[:fits], room)
    if total > best:
        found, best = pair, total
    thirds = _distinct(ascending[:fits])[-THIRDS_MAX:][::-1]
    for third in thirds.tolist():
        if room - best <= free:
            break
        others = ascending[:third]
        others = others[: np.searchsorted(others, room - ascending[third], side="right")]
        pair, total = _pair(others, room - float(ascending[third]))
        if pair and total + ascending[third] > best:
            found, best = (third, *pair), float(total + ascending[third])
    return found


def _pair(ascending: Shares, room: float) -> tuple[tuple[int, ...], float]:
    """Returns the two items that leave the least of `room`, and their sum.

    Of equal pairs, returns the one with the largest item.
    """
    first = np.arange(len(ascending))
    second = np.searchsorted(ascending, room - ascending, side="right") - 1
    second = np.minimum(second, first - 1)
    is_pair = second >= 0
    if not is_pair.any():
        return (), 0.0
    sums = np.where(is_pair, ascending + ascending[np.maximum(second, 0)], -1.0)
    at = len(sums) - 1 - int(sums[::-1].argmax())
    return (at, int(second[at])), float(sums[at])


def _distinct(ascending: Shares) -> NDArray[np.int64]:
    """Returns the last index of each run of equal items."""
    return np.flatnonzero(np.append(ascending[1:] != ascending[:-1], True))
