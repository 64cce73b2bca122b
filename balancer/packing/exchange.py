"""Relieves carriers that are above a limit, by exchanges with others.

An exchange gives one item away and takes a smaller one, or none, for it. Where no exchange helps,
two or three in a row are tried: each relieves whom the one before has burdened (an ejection chain,
Glover 1996). What is made smaller is the excess: what all carriers together have above the limit;
and none ever comes to carry more than the heaviest did.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from balancer.packing.bounds import ROUNDING
from balancer.packing.packing import Items, Packing

NOTHING = -1
"""Taken for the item that is given."""
PAIRS_MAX = 1 << 13
"""Pairs of items looked at for one exchange: what a carrier with very many has is looked at in
steps, and of the others the lightest come first."""
GIVEN_MAX = 128
FIRSTS = ((), (50,), (50, 10))
"""Rows are tried of one exchange; of two, the second after each of the 50 best first ones; and of
three, the third after each of the 10 best second ones of those."""


@dataclass
class Effort:
    """How often a carrier's exchanges may still be looked through: counted, so that a search ends
    at the same place on every machine. A look takes some 0.2 ms, and never more than PAIRS_MAX."""

    looks: int = 5_000

    @property
    def is_spent(self) -> bool:
        return self.looks <= 0


class Exchange(NamedTuple):
    """One item for another.

    Args:
        change: of the excess.
        given: an item of the burdened carrier, which goes to the `other` one.
        taken: an item of the other one, or NOTHING.
    """

    change: float
    given: int
    other: int
    taken: int


class _Burdened(NamedTuple):
    """A carrier that is to be relieved: its items, its load, and who takes no part, itself among
    them."""

    held: Items
    load: float
    apart: frozenset[int]


def relieve(packing: Packing, limit: float, effort: Effort) -> bool:
    """Whether no carrier is above the limit any more; what helped was done in any case."""
    while above := packing.above(limit):
        exchanges = _shortest(packing, above[0], limit, effort)
        if not exchanges:
            return False
        carrier = above[0]
        for exchange in exchanges:
            _do(packing, carrier, exchange)
            carrier = exchange.other
    return True


def _do(packing: Packing, carrier: int, exchange: Exchange) -> None:
    given, taken = np.array([exchange.given]), np.array([exchange.taken])
    packing.take(given, carrier)
    if exchange.taken != NOTHING:
        packing.take(taken, exchange.other)
        packing.give(taken, carrier)
    packing.give(given, exchange.other)


def _shortest(packing: Packing, carrier: int, limit: float, effort: Effort) -> list[Exchange]:
    """The fewest exchanges in a row, begun by a carrier, that make the excess smaller; or none."""
    begun = _Burdened(packing.held(carrier), float(packing.loads[carrier]), frozenset([carrier]))
    for firsts in FIRSTS:
        found = _row(packing, begun, limit, -ROUNDING * limit, firsts, effort)
        if found:
            return found
    return []


def _row(
    packing: Packing,
    burdened: _Burdened,
    limit: float,
    most: float,
    firsts: tuple[int, ...],
    effort: Effort,
) -> list[Exchange]:
    """Exchanges in a row that change the excess by less than `most`, together; or none.

    Args:
        firsts: after how many first exchanges others are looked for; empty: only one is done.
    """
    if effort.is_spent:
        return []
    effort.looks -= 1
    choice = _Choice(packing, burdened, limit)
    if not firsts:
        last = choice.last()
        return [last] if last and last.change < most else []
    for first in choice.cheapest(firsts[0]):
        # What the first one adds to the excess, the others have to take away as well.
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
    if taken != NOTHING:
        load -= packing.shares[taken]
    return _Burdened(np.append(kept[kept != taken], given), float(load), apart | {other})


class _Choice:
    """The exchanges that a burdened carrier has."""

    def __init__(self, packing: Packing, burdened: _Burdened, limit: float):
        load, heaviest = burdened.load, packing.heaviest
        self._given = _spread(packing, burdened.held, GIVEN_MAX)
        count = PAIRS_MAX // max(1, len(self._given))
        self._taken, self._others = _offered(packing, count, burdened.apart)
        is_something = self._taken != NOTHING
        back = np.where(is_something, packing.shares[self._taken * is_something], 0.0)
        passed = packing.shares[self._given][:, None] - back[None, :]
        theirs = packing.loads[self._others]
        change = np.maximum(0.0, load - passed - limit) - max(0.0, load - limit)
        change += np.maximum(0.0, theirs + passed - limit) - np.maximum(0.0, theirs - limit)
        change[(passed <= ROUNDING * limit) | (load - passed > heaviest)] = np.inf
        self._change: NDArray[np.float64] = change.ravel()
        self._is_heavier: NDArray[np.bool_] = (theirs + passed > heaviest).ravel()

    def last(self) -> Exchange | None:
        """The best to end a row with. Before the end the other carrier may have more than the
        heaviest has: it passes that on."""
        change = np.where(self._is_heavier, np.inf, self._change)
        if not np.isfinite(change).any():
            return None
        return self._at(int(change.argmin()))

    def cheapest(self, count: int) -> list[Exchange]:
        """The best to begin a row with."""
        change = self._change
        found = np.flatnonzero(np.isfinite(change))
        if count < len(found):
            # By value: which of equals a partition puts first depends on the processor.
            found = found[change[found] <= np.partition(change[found], count)[count]]
        order = np.argsort(change[found], kind="stable")[:count]
        return [self._at(at) for at in found[order].tolist()]

    def _at(self, pair: int) -> Exchange:
        given, taken = divmod(pair, len(self._taken))
        return Exchange(
            float(self._change[pair]),
            int(self._given[given]),
            int(self._others[taken]),
            int(self._taken[taken]),
        )


def _spread(packing: Packing, items: Items, count: int) -> Items:
    """So many of the items at most, of all sizes."""
    if len(items) <= count:
        return items
    ascending = items[np.argsort(packing.shares[items], kind="stable")]
    return ascending[np.linspace(0, len(items) - 1, count).astype(np.int64)]


def _offered(packing: Packing, count: int, apart: frozenset[int]) -> tuple[Items, Items]:
    """What the lightest carriers can give: items, NOTHING where one has room, and whose it is.

    Args:
        count: of what they give, at most, but for NOTHING.
    """
    order = np.argsort(packing.loads, kind="stable")
    order = order[~np.isin(order, list(apart))]
    enough = int(np.searchsorted(np.cumsum(packing.counts[order] + 1), count)) + 1
    chosen = order[:enough]
    roomy = chosen[packing.counts[chosen] < packing.room[chosen]]
    none: list[Items] = [np.empty(0, dtype=np.int64)]
    items = _spread(
        packing, np.concatenate(none + [packing.held(at) for at in chosen.tolist()]), count
    )
    return (
        np.concatenate([items, np.full(len(roomy), NOTHING)]),
        np.concatenate([packing.where[items], roomy]),
    )
