"""The fewest carriers whose packing was found, beside the fewest that any packing can need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from balancer.packing.bounds import ROUNDING, carriers_at_least
from balancer.packing.exchange import Effort, relieve
from balancer.packing.filling import filled
from balancer.packing.longest_first import longest_first
from balancer.packing.packing import Packing
from balancer.packing.shares import HOMELESS, Carriers, Shares

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
        ValueError: a share is above the capacity: no number of carriers would do.
    """
    largest = float(shares.max(initial=0.0))
    if largest > capacity * (1 + ROUNDING):
        raise ValueError(f"a share of {largest:g} is above the capacity of {capacity:g}")
    at_least = carriers_at_least(shares, capacity, items_max)
    carriers = at_least
    while True:
        packing = _fitting(shares, capacity, carriers, items_max or len(shares))
        if packing is not None:
            return Count(carriers, at_least, packing.where)
        carriers += 1


def _fitting(shares: Shares, capacity: float, carriers: int, items_max: int) -> Packing | None:
    """A packing with no carrier above the capacity; None: none was found."""
    room = np.full(carriers, items_max)
    is_hard = len(shares) <= min(FEW_ITEMS, FEW_PER_CARRIER * carriers)
    start = _filled if is_hard else _longest_first
    best = start(shares, capacity, room)
    effort = Effort()
    if relieve(best, capacity, effort):
        return best
    # The same numbers in each run: the same input gives the same plan.
    random = np.random.default_rng(0)
    for _ in range(ROUNDS if is_hard else 0):
        if effort.is_spent:
            break
        packing = _shaken(best, capacity, random)
        if relieve(packing, capacity, effort):
            return packing
        if _excess(packing, capacity) <= _excess(best, capacity):
            best = packing
    return None


def _longest_first(shares: Shares, _: float, room: NDArray[np.int64]) -> Packing:
    base = np.zeros(len(room))
    return Packing(shares, longest_first(shares, base, room), base, room)


def _filled(shares: Shares, capacity: float, room: NDArray[np.int64]) -> Packing:
    """The fullest carriers as they were filled; what is left goes where least is."""
    packing = Packing(shares, np.full(len(shares), HOMELESS), np.zeros(len(room)), room)
    fullest = sorted(filled(shares, capacity), key=lambda items: -float(shares[items].sum()))
    for carrier, items in enumerate(fullest[: len(room)]):
        for item in items[: room[carrier]].tolist():
            packing.put(item, carrier)
    packing.house()
    return packing


def _shaken(packing: Packing, capacity: float, random: np.random.Generator) -> Packing:
    """Some carriers, and all that are above the capacity, are taken apart, and their items go one
    by one, in any order, where least is."""
    apart = random.random(len(packing.loads)) < APART
    apart[packing.above(capacity)] = True
    shaken = Packing(packing.shares, packing.where, np.zeros(len(packing.loads)), packing.room)
    items = random.permutation(np.flatnonzero(apart[packing.where]))
    carriers = np.flatnonzero(apart)
    for item in items.tolist():
        shaken.put(item, HOMELESS)
    for item in items.tolist():
        roomy = carriers[shaken.counts[carriers] < shaken.room[carriers]]
        shaken.put(item, int(roomy[shaken.loads[roomy].argmin()]))
    return shaken


def _excess(packing: Packing, capacity: float) -> float:
    return float(np.maximum(0.0, packing.loads - capacity).sum())
