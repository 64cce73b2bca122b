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
PARTS_MAX = 16


def heaviest_at_least(shares: Shares, carriers: int, base: Shares | None = None) -> float:
    """The heaviest of so many carriers carries at least this much, however items are placed.

    The mean; the largest item; and for every k, what the k + 1 smallest of the k * carriers + 1
    largest items make together, since some carrier holds as many of these.

    Args:
        base: by carrier, a load of its own that stays.
    """
    if carriers < 1:
        raise ValueError("there is no carrier to place anything on: give one or more")
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
    if not capacity > 0:
        raise ValueError(f"a capacity of {capacity:g} carries nothing: give one above 0")
    if items_max is not None and items_max < 1:
        raise ValueError(f"carriers of {items_max} items hold nothing: give one or more")
    if not len(shares):
        return 0
    # What is above it only because of how it was added up still fits.
    capacity *= 1 + ROUNDING
    ascending = np.sort(np.minimum(shares, capacity))
    found = max(1, _by_number(ascending, capacity), _by_size(ascending, capacity))
    return max(found, -(-len(shares) // items_max)) if items_max else found


def _by_number(ascending: Shares, capacity: float) -> int:
    """A carrier holds k items at most of those that are above a (k + 1)th of it."""
    parts = np.arange(1, PARTS_MAX + 1)
    above = len(ascending) - np.searchsorted(ascending, capacity / (parts + 1), side="right")
    return int(np.ceil(above / parts).max())


def _by_size(ascending: Shares, capacity: float) -> int:
    """Martello and Toth's L2. For each size up to half the capacity: N1, the items with which none
    of that size fits; N2, the others above half; N3, those up to half, but not below the size.
    Items of N1 and N2 are on a carrier each, and what is left of N2's takes what it can of N3."""
    sums = np.concatenate([[0.0], np.cumsum(ascending)])
    half = int(np.searchsorted(ascending, capacity / 2, side="right"))
    bound = math.ceil(float(sums[-1]) / capacity)
    if not half:
        return max(bound, len(ascending))
    n3_begins = np.searchsorted(ascending, ascending[:half], side="left")
    n1_begins = np.searchsorted(ascending, capacity - ascending[:half], side="right")
    n1_begins = np.maximum(n1_begins, half)
    n2 = n1_begins - half
    left_by_n2 = n2 * capacity - (sums[n1_begins] - sums[half])
    n3_sum = sums[half] - sums[n3_begins]
    more = np.ceil(np.maximum(0.0, n3_sum - left_by_n2) / capacity - ROUNDING)
    return max(bound, int((len(ascending) - half + more).max()))
