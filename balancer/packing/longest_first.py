"""Places items one by one, the largest first, each on the lightest carrier (Graham's LPT rule)."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from balancer.packing.shares import UNPLACED, Carriers, Shares


def longest_first(shares: Shares, loads: Shares, room: NDArray[np.int64] | None = None) -> Carriers:
    """Returns the carrier of each item; UNPLACED for an item that finds no room.

    Args:
        shares: share of each item.
        loads: load that each carrier has already.
        room: number of items that each carrier can still take; None for any number.
    """
    left = [len(shares)] * len(loads) if room is None else room.tolist()
    heap = [(load, carrier) for carrier, load in enumerate(loads.tolist()) if left[carrier] > 0]
    heapq.heapify(heap)
    order = np.argsort(-shares, kind="stable")
    chosen = np.full(len(shares), UNPLACED)
    went: list[int] = []
    for share in shares[order].tolist():
        if not heap:
            break
        load, carrier = heap[0]
        went.append(carrier)
        left[carrier] -= 1
        if left[carrier]:
            heapq.heapreplace(heap, (load + share, carrier))
        else:
            heapq.heappop(heap)
    chosen[order[: len(went)]] = went
    return chosen
