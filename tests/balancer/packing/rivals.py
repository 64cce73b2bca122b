"""Strategies of other systems, rewritten from their descriptions, to compare on the same input."""

from __future__ import annotations

import heapq

import numpy as np

from balancer.packing.shares import UNPLACED, Carriers, Shares


def load_based(shares: Shares, where: Carriers, carriers: int, *, seed: int = 0) -> Carriers:
    """Places items by Brooklin's load-based strategy: placed items never move.

    When no item is placed, the heaviest goes first to the lightest task. Otherwise loads are not
    requested again, and new items are shuffled and dealt out to the tasks in turn.
    """
    found = where.copy()
    new = np.flatnonzero(where == UNPLACED)
    if len(new) == len(where):
        heap = [(0.0, carrier) for carrier in range(carriers)]
        for item in np.argsort(-shares, kind="stable").tolist():
            load, carrier = heap[0]
            found[item] = carrier
            heapq.heapreplace(heap, (load + float(shares[item]), carrier))
        return found
    shuffled = np.random.default_rng(seed).permutation(new)
    found[shuffled] = np.arange(len(new)) % carriers
    return found


def count_sticky(where: Carriers, carriers: int) -> Carriers:
    """Places items by the sticky assignor's rule: counts differ by one at most, the rest stays."""
    found = where.copy()
    counts = np.bincount(found[found != UNPLACED], minlength=carriers)
    share, rest = divmod(len(where), carriers)
    for carrier in np.argsort(-counts, kind="stable").tolist():
        allowed = share + (rest > 0)
        rest -= int(counts[carrier] >= allowed and rest > 0)
        held = np.flatnonzero(found == carrier)
        found[held[allowed:]] = UNPLACED
    counts = np.bincount(found[found != UNPLACED], minlength=carriers)
    for item in np.flatnonzero(found == UNPLACED).tolist():
        carrier = int(counts.argmin())
        found[item] = carrier
        counts[carrier] += 1
    return found
