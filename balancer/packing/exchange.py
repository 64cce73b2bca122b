"""Relieves carriers above a limit by exchanges of items with other carriers.

An exchange gives one item away and takes a smaller one, or none, in return. When no single exchange
helps, chains of two or three are tried: each exchange relieves the carrier that the previous one
burdened (an ejection chain, Glover 1996). The search reduces the excess: the sum, over all
carriers, of the load above the limit. No chain leaves a carrier with more load than the heaviest
carrier had before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from balancer.packing.bounds import ROUNDING
from balancer.packing.packing import Items, Packing

NOTHING = -1
"""Value of `Exchange.taken` when no item comes back."""
PAIRS_MAX = 1 << 13
"""Maximum number of item pairs examined for one exchange. Of very many items on a carrier a sample
of all sizes is examined; of the other carriers the lightest come first."""
GIVEN_MAX = 128
CANDIDATES = ((), (50,), (50, 10))
"""Numbers of candidates that chains are built on, by length of the chain. A chain of two continues
each of the 50 best first exchanges. A chain of three continues each of the 10 best second exchanges
behind each of the 50 best first ones."""


@dataclass
class Effort:
    """Remaining budget of a search, in looks through the exchanges of one carrier.

    A count, unlike a time, ends a search at the same point on every machine. A look takes some
    0.2 ms, and examines at most PAIRS_MAX pairs of items.
    """

    looks: int = 5_000

    @property
    def is_spent(self) -> bool:
        return self.looks <= 0


class Exchange(NamedTuple):
    """Exchange of one item for another.

    Args:
        change: change of the excess; negative when the exchange reduces it.
        given: item of the burdened carrier that goes to the carrier `other`.
        other: carrier that receives `given`.
        taken: item of `other` that comes back, or NOTHING.
    """

    change: float
    given: int
    other: int
    taken: int


class _Burdened(NamedTuple):
    """Carrier to relieve: its items, its load, and the carriers that take no part, itself included.

    The items and the load may be those after exchanges that are planned, but not made.
    """

    held: Items
    load: float
    excluded: frozenset[int]


def relieve(packing: Packing, limit: float, effort: Effort) -> bool:
    """Exchanges items until no carrier is above the limit; returns True when that succeeds.

    Exchanges that helped are kept in both cases.

    Args:
        effort: budget, reduced by the looks that are spent.
    """
    while above := packing.above(limit):
        exchanges = _shortest_chain(packing, above[0], limit, effort)
        if not exchanges:
            return False
        carrier = above[0]
        for exchange in exchanges:
            _make(packing, carrier, exchange)
            carrier = exchange.other
    return True


def _make(packing: Packing, carrier: int, exchange: Exchange) -> None:
    given, taken = np.array([exchange.given]), np.array([exchange.taken])
    packing.take(given, carrier)
    if exchange.taken != NOTHING:
        packing.take(taken, exchange.other)
        packing.give(taken, carrier)
    packing.give(given, exchange.other)


def _shortest_chain(packing: Packing, carrier: int, limit: float, effort: Effort) -> list[Exchange]:
    """Returns the shortest chain found that starts at a carrier and reduces the excess, or none."""
    begun = _Burdened(packing.held(carrier), float(packing.loads[carrier]), frozenset([carrier]))
    for candidates in CANDIDATES:
        found = _chain(packing, begun, limit, -ROUNDING * limit, candidates, effort)
        if found:
            return found
    return []


def _chain(
    packing: Packing,
    burdened: _Burdened,
    limit: float,
    most: float,
    candidates: tuple[int, ...],
    effort: Effort,
) -> list[Exchange]:
    """Returns a chain whose total change of the excess is below `most`, or an empty list.

    Args:
        candidates: number of candidates for each exchange before the last one; empty for a chain of
            one exchange.
    """
    if effort.is_spent:
        return []
    effort.looks -= 1
    choice = _Choice(packing, burdened, limit)
    if not candidates:
        last = choice.last()
        return [last] if last and last.change < most else []
    for first in choice.cheapest(candidates[0]):
        # The rest of the chain also has to remove the excess that the first exchange adds.
        theirs = _after(packing, first, burdened.excluded)
        rest = _chain(packing, theirs, limit, most - first.change, candidates[1:], effort)
        if rest:
            return [first, *rest]
    return []


def _after(packing: Packing, exchange: Exchange, excluded: frozenset[int]) -> _Burdened:
    """Returns the other carrier of an exchange as the exchange leaves it."""
    _, given, other, taken = exchange
    kept = packing.held(other)
    load = packing.loads[other] + packing.shares[given]
    if taken != NOTHING:
        load -= packing.shares[taken]
    return _Burdened(np.append(kept[kept != taken], given), float(load), excluded | {other})


class _Choice:
    """Exchanges that are open to a burdened carrier."""

    def __init__(self, packing: Packing, burdened: _Burdened, limit: float):
        load, heaviest = burdened.load, packing.heaviest
        self._given = _spread(packing, burdened.held, GIVEN_MAX)
        count = PAIRS_MAX // max(1, len(self._given))
        self._taken, self._others = _offered(packing, count, burdened.excluded)
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
        """Returns the best exchange to end a chain with; None when there is none.

        The last exchange must not make the other carrier heavier than the heaviest carrier. An
        earlier exchange may, because its other carrier passes load on.
        """
        change = np.where(self._is_heavier, np.inf, self._change)
        if not np.isfinite(change).any():
            return None
        return self._at(int(change.argmin()))

    def cheapest(self, count: int) -> list[Exchange]:
        """Returns the best exchanges to begin a chain with, at most `count`."""
        change = self._change
        found = np.flatnonzero(np.isfinite(change))
        if count < len(found):
            # Selected by value: the order of equal elements in np.partition depends on the
            # processor.
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
    """Returns at most `count` of the items, spread over all sizes."""
    if len(items) <= count:
        return items
    ascending = items[np.argsort(packing.shares[items], kind="stable")]
    return ascending[np.linspace(0, len(items) - 1, count).astype(np.int64)]


def _offered(packing: Packing, count: int, excluded: frozenset[int]) -> tuple[Items, Items]:
    """Returns what the lightest carriers can give back, and the carrier of each entry.

    The entries are items, and one NOTHING for each carrier that has room for another item.

    Args:
        count: maximum number of items; NOTHING entries come on top.
    """
    order = np.argsort(packing.loads, kind="stable")
    order = order[~np.isin(order, list(excluded))]
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
