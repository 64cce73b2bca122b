"""Lower bounds that no packing can beat.

The bounds are the textbook ones: Graham 1969 for the heaviest carrier, Martello and Toth 1990 (L2)
for the number of carriers.
"""

from __future__ import annotations

import math

import numpy as np

from balancer.packing.shares import Shares

ROUNDING = 1e-9
"""Relative tolerance for sums of floats: the order of the additions changes a sum by less."""
PARTS_MAX = 16


def heaviest_at_least(shares: Shares, carriers: int, base: Shares | None = None) -> float:
    """Returns a lower bound for the load of the heaviest carrier in any packing.

    The bound is the largest of the mean load, the largest item, the largest base, and one sum for
    every k. That sum is of the k + 1 smallest of the k * carriers + 1 largest items: some carrier
    holds at least k + 1 of the latter.

    Args:
        shares: share of each item.
        carriers: number of carriers.
        base: load of each carrier that cannot be moved away; None for no such load.

    Raises ValueError when there is no carrier.
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
    """Returns a lower bound for the number of carriers of this capacity that a packing needs.

    An item above the capacity counts as an item that fills one carrier.

    Args:
        shares: share of each item.
        capacity: maximum load of a carrier.
        items_max: maximum number of items on a carrier; None for no maximum.

    Raises ValueError when the capacity is not above 0 or `items_max` is below 1.
    """
    if not capacity > 0:
        raise ValueError(f"a capacity of {capacity:g} carries nothing: give one above 0")
    if items_max is not None and items_max < 1:
        raise ValueError(f"carriers of {items_max} items hold nothing: give one or more")
    if not len(shares):
        return 0
    # A load that exceeds the capacity by rounding alone still fits.
    capacity *= 1 + ROUNDING
    ascending = np.sort(np.minimum(shares, capacity))
    found = max(1, _by_number(ascending, capacity), _by_size(ascending, capacity))
    return max(found, -(-len(shares) // items_max)) if items_max else found


def _by_number(ascending: Shares, capacity: float) -> int:
    """Bounds by item count: a carrier holds at most k items above capacity / (k + 1) each."""
    parts = np.arange(1, PARTS_MAX + 1)
    above = len(ascending) - np.searchsorted(ascending, capacity / (parts + 1), side="right")
    return int(np.ceil(above / parts).max())


def _by_size(ascending: Shares, capacity: float) -> int:
    """Computes Martello and Toth's L2 bound.

    Each size up to half the capacity divides the items. N1: items beside which no item of that
    size fits. N2: all other items above half the capacity. N3: items from that size up to half the
    capacity. Every item of N1 and N2 needs its own carrier, and N3 first fills the room beside N2.
    """
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
