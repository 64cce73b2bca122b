"""What no packing can do better than.

The bounds are the textbook ones: Graham 1969 for the heaviest carrier, Martello and Toth 1990 (L2)
for the number of carriers.
"""

from __future__ import annotations

import math

import numpy as np

from balancer.packing.shares import Shares

ROUNDING = 1e-9
"""Sums of floats differ by less than this, as a part of them, however they are added up."""


def heaviest_at_least(shares: Shares, carriers: int, base: Shares | None = None) -> float:
    """The heaviest of so many carriers carries at least this much, however items are placed.

    The mean; the largest item; and for every k, what the k + 1 smallest of the k * carriers + 1
    largest items make together, since some carrier holds as many of these.

    Args:
        base: by carrier, a load of its own that stays.
    """
    bound = 0.0 if base is None else float(base.max(initial=0.0))
    if not len(shares):
        return bound
    descending = -np.sort(-shares)
    total = float(descending.sum()) + (0.0 if base is None else float(base.sum()))
    bound = max(bound, float(descending[0]), total / carriers)
    sums = np.concatenate([[0.0], np.cumsum(descending)])
    many = np.arange(1, (len(shares) - 1) // carriers + 1)
    if len(many):
        last = many * carriers + 1
        bound = max(bound, float((sums[last] - sums[last - many - 1]).max()))
    return bound


def carriers_at_least(shares: Shares, capacity: float, items_max: int | None = None) -> int:
    """So many carriers of this capacity are needed, however items are placed.

    Items above the capacity need one each and are taken for as large as it.

    Args:
        items_max: no carrier holds more items than this.
    """
    if capacity <= 0:
        raise ValueError(f"a capacity of {capacity:g} carries nothing: give one above 0")
    if not len(shares):
        return 0
    ascending = np.sort(np.minimum(shares, capacity))
    sums = np.concatenate([[0.0], np.cumsum(ascending)])
    half = int(np.searchsorted(ascending, capacity / 2, side="right"))
    # For every size up to half a capacity: items above capacity - size share with none of it.
    sizes = ascending[:half]
    first = np.searchsorted(ascending, sizes, side="left")
    alone = np.searchsorted(ascending, capacity - sizes, side="right")
    alone = np.maximum(alone, half)
    lonely = len(ascending) - alone
    middle = alone - half
    room = middle * capacity - (sums[alone] - sums[half])
    left = np.maximum(0.0, (sums[half] - sums[first]) - room)
    bounds = lonely + middle + np.ceil(left / capacity * (1 - ROUNDING) - ROUNDING)
    found = max(_whole(float(sums[-1]) / capacity), len(ascending) - half)
    if len(bounds):
        found = max(found, int(bounds.max()))
    return max(found, -(-len(shares) // items_max)) if items_max else found


def _whole(quotient: float) -> int:
    """Rounded up, but not for what rounding has added."""
    return math.ceil(quotient * (1 - ROUNDING))
