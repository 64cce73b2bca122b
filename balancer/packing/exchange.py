"""Relieves carriers that are above a limit, by exchanges with others.

An exchange gives one item away and takes a smaller one, or none, for it. Where no exchange helps,
two or three in a row are tried: each relieves whom the one before has burdened (an ejection chain,
Glover 1996). What is made smaller is the excess: what all carriers together have above the limit;
and none ever comes to carry more than the heaviest did.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from balancer.packing.bounds import ROUNDING
from balancer.packing.packing import Items, Packing

NONE = -1
PAIRS_MAX = 1 << 13
"""Pairs of items looked at for one exchange; those of the lightest carriers come first."""
FIRSTS = ((), (50,), (50, 10))
"""After none; after the 50 best exchanges a second one; after the 10 best of those a third."""


@dataclass
class Effort:
    """How often a carrier's exchanges may still be looked through: counted, so that a search ends
    at the same place on every machine. One takes some 0.2 ms."""

    looks: int = 5_000

    @property
    def is_spent(self) -> bool:
        return self.looks <= 0


class Exchange(NamedTuple):
    """One item for another.

    Args:
        change: of the excess.
        taken: NONE where the other carrier gives nothing back.
    """

    change: float
    given: int
    other: int
    taken: int


def relieve(packing: Packing, limit: float, effort: Effort) -> bool:
    """Whether no carrier is above the limit any more; what helped was done in any case."""
    while above := packing.above(limit):
        carrier = above[0]
        exchanges = _shortest(packing, carrier, limit, effort)
        if not exchanges:
            return False
        for _, given, other, taken in exchanges:
            packing.put(given, other)
            if taken != NONE:
                packing.put(taken, carrier)
            carrier = other
    return True


def _shortest(packing: Packing, carrier: int, limit: float, effort: Effort) -> list[Exchange]:
    """The fewest exchanges in a row, begun by a carrier, that make the excess smaller; or none."""
    begun = _Burdened(packing.held(carrier), float(packing.loads[carrier]), frozenset([carrier]))
    for firsts in FIRSTS:
        found = _row(packing, begun, limit, -ROUNDING * limit, firsts, effort)
        if found:
            return found
    return []


class _Burdened(NamedTuple):
    """A carrier that is to be relieved: its items, its load, and who takes no part, itself among
    them."""

    held: Items
    load: float
    apart: frozenset[int]


def _row(
    packing: Packing,
    burdened: _Burdened,
    limit: float,
    most: float,
    firsts: tuple[int, ...],
    effort: Effort,
) -> list[Exchange]:
    """Exchanges in a row that change the excess by less than `most`; none where none do."""
    if effort.is_spent:
        return []
    effort.looks -= 1
    choice = _Choice(packing, burdened, limit)
    best = choice.best()
    if best and best.change < most:
        return [best]
    for first in choice.cheapest(firsts[0]) if firsts else ():
        theirs = _after(packing, first, burdened.apart)
        rest = _row(packing, theirs, limit, most - first.change, firsts[1:], effort)
        if rest:
            return [first, *rest]
    return []


def _after(packing: Packing, exchange: Exchange, apart: frozenset[int]) -> _Burdened:
    """The other side of an exchange, once that is done."""
    _, given, other, taken = exchange
    kept = packing.held(other)
    load = packing.loads[other] + packing.shares[given]
    if taken != NONE:
        load -= packing.shares[taken]
    return _Burdened(np.append(kept[kept != taken], given), float(load), apart | {other})


class _Choice:
    """The exchanges that a burdened carrier has."""

    def __init__(self, packing: Packing, burdened: _Burdened, limit: float):
        held, load, apart = burdened
        heaviest = packing.heaviest
        self._held = held
        self._taken, self._others = _offered(packing, PAIRS_MAX // max(1, len(held)), apart)
        shares = np.append(packing.shares, 0.0)  # NONE's
        passed = shares[held][:, None] - shares[self._taken][None, :]
        theirs = packing.loads[self._others]
        change = np.maximum(0.0, load - passed - limit) - max(0.0, load - limit)
        change += np.maximum(0.0, theirs + passed - limit) - np.maximum(0.0, theirs - limit)
        change[(passed <= ROUNDING * limit) | (load - passed > heaviest)] = np.inf
        self._change: NDArray[np.float64] = change.ravel()
        self._too_much: NDArray[np.bool_] = (theirs + passed > heaviest).ravel()

    def best(self) -> Exchange | None:
        """The last of a row: it leaves the other carrier with no more than the heaviest has."""
        if not len(self._change):
            return None
        found = np.where(self._too_much, np.inf, self._change).argmin()
        return None if self._too_much[found] else next(self._at(found.reshape(1)), None)

    def cheapest(self, count: int) -> Iterator[Exchange]:
        """The best to begin a row with."""
        found = np.arange(len(self._change))
        if count < len(found):
            found = np.sort(np.argpartition(self._change, count)[:count])
        return self._at(found[np.argsort(self._change[found], kind="stable")])

    def _at(self, places: NDArray[np.int64]) -> Iterator[Exchange]:
        for place in places.tolist():
            change = float(self._change[place])
            if change < np.inf:
                given, taken = divmod(place, len(self._taken))
                yield Exchange(
                    change,
                    int(self._held[given]),
                    int(self._others[taken]),
                    int(self._taken[taken]),
                )


def _offered(packing: Packing, count: int, apart: frozenset[int]) -> tuple[Items, Items]:
    """What the lightest carriers can give: their items, NONE where one has room, and whose it is.

    Args:
        count: of items, about.
    """
    order = np.argsort(packing.loads, kind="stable")
    order = order[~np.isin(order, list(apart))]
    enough = int(np.searchsorted(np.cumsum(packing.counts[order] + 1), count)) + 1
    chosen = order[:enough]
    roomy = chosen[packing.counts[chosen] < packing.room[chosen]]
    return (
        np.concatenate([*map(packing.held, chosen.tolist()), np.full(len(roomy), NONE)]),
        np.concatenate([np.repeat(chosen, packing.counts[chosen]), roomy]),
    )
