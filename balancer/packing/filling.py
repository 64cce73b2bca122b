"""Fills carriers one after another, each as full as possible (MBS': Fleszar and Hindi 2002).

The method is for carriers that hold few items: there the largest-first rules waste too much room.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from balancer.packing.bounds import ROUNDING
from balancer.packing.packing import Items
from balancer.packing.shares import Shares

FULL = 5e-4
"""A carrier counts as full when at most this part of its capacity is free."""
THIRDS_MAX = 64
"""Maximum number of third items that are tried, each with the best pair beside it."""


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
