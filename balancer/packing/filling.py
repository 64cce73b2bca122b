"""Carriers filled one after another, each as full as can be found (MBS': Fleszar and Hindi 2002).

For items of which a carrier takes few: there the largest-first rules leave too much room.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from balancer.packing.bounds import ROUNDING
from balancer.packing.packing import Items
from balancer.packing.shares import Shares

FULL = 5e-4
"""A carrier is full when less than this part of it is free."""
THIRDS_MAX = 64
"""So many third items are tried with the best pair beside them."""


def filled(shares: Shares, capacity: float) -> list[Items]:
    """By carrier, its items: the largest that is left, and those that fill the rest best."""
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
    """Up to three items whose sum leaves least of the room; where `free` is left, the fewest."""
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
    """The two items that leave least of the room, with the largest one that does; and their sum."""
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
    """Of equal items, the last."""
    return np.flatnonzero(np.append(ascending[1:] != ascending[:-1], True))
