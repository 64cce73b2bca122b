"""Levels the loads of a route's carriers: with few moves, or by placing everything anew.

Pinned partitions go to the carriers of their pins, hot ones to carriers of their own. A hot
partition and its carrier do not count for the balance of the others. All other partitions are
packed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from balancer.decision.hot import Division, divided
from balancer.decision.placement import Placement, Reason, RouteView, Scope, loads, moves_between
from balancer.decision.settings import Limits
from balancer.packing.bounds import ROUNDING, heaviest_at_least
from balancer.packing.fresh import packed
from balancer.packing.shares import UNPLACED, BadShare, Carriers, Shares, checked
from balancer.packing.sticky import repaired
from balancer.topic_partition import TopicPartition


def place(route: RouteView, limits: Limits, scope: Scope) -> Placement:
    """Returns the placement; the same route gives the same placement, byte for byte.

    Partitions for which no carrier has room are left out of it.

    Raises:
        ValueError: a share is no valid load, there is no carrier, or a pin names none of them.
    """
    partitions = sorted(route.shares)
    _check(route, partitions)
    division = divided(route, limits)
    found = _packed(route, division, limits, scope)
    placed = {**division.pins, **division.alone, **found.where}
    where = {each: placed[each] for each in partitions if each in placed}
    return Placement(
        where=where,
        moves=moves_between(route.before, where, _reason_of(route, division, found.leaving, scope)),
        loads=loads(where, route.shares, route.carriers),
        hot=division.hot,
        unplaced=tuple(each for each in partitions if each not in where),
        bound=_bound(route, division),
        certificate=found.certificate,
    )


def is_balanced(route: RouteView, limits: Limits) -> bool:
    """Returns True when a sticky plan would move nothing, at a fraction of that plan's cost; also
    when no carrier has more than the idle load, which is worth no move.

    Returns False also when only a plan can tell: a partition is new, has lost its carrier, is not
    where it is pinned, or is hot and shares its carrier.
    """
    carriers = sorted(set(route.carriers))
    index = {carrier: at for at, carrier in enumerate(carriers)}
    where = np.array([index.get(route.before.get(each, -1), -1) for each in route.shares], np.int64)
    if len(where) and where.min() < 0:
        return False
    shares = np.fromiter(route.shares.values(), np.float64, len(where))
    pins = {each: at for each, at in route.pins.items() if each in route.shares}
    if any(route.before[each] != carrier for each, carrier in pins.items()):
        return False
    counts = np.bincount(where, minlength=len(carriers))
    with_hot = where[shares > limits.threshold]
    if (counts > limits.partitions_max).any() or (counts[with_hot] > 1).any():
        return False
    is_calm = np.full(len(carriers), True)
    is_calm[with_hot] = False
    if not is_calm.any():
        return True
    base = np.zeros(len(carriers))
    for partition, carrier in pins.items():
        base[index[carrier]] += route.shares[partition]
    is_free = is_calm[where] & np.array([each not in pins for each in route.shares], np.bool_)
    bound = heaviest_at_least(shares[is_free], int(is_calm.sum()), base[is_calm])
    found = np.bincount(where, shares, len(carriers))[is_calm]
    heaviest = max(bound * (1 + limits.slack) * (1 + ROUNDING), limits.idle)
    return bool(found.max() <= heaviest)


def heaviest_of_any(route: RouteView, limits: Limits) -> float:
    """Returns a lower bound for the heaviest carrier without a hot partition.

    It holds for any placement in which hot partitions are alone.
    """
    return _bound(route, divided(route, limits))


def _check(route: RouteView, partitions: Sequence[TopicPartition]) -> None:
    if not route.carriers:
        raise ValueError("the route has no carrier: give it one or more")
    try:
        checked([route.shares[each] for each in partitions])
    except BadShare as error:
        topic, number = partitions[error.item]
        raise ValueError(f"{topic}-{number}: {error}") from None
    for partition, carrier in sorted(route.pins.items()):
        if partition in route.shares and carrier not in route.carriers:
            raise ValueError(
                f"{partition.topic}-{partition.partition} is pinned to carrier {carrier}; "
                f"the route has {', '.join(map(str, sorted(route.carriers)))}: unpin it, or pin it "
                "to one of these"
            )


@dataclass(frozen=True, slots=True)
class _Packed:
    where: dict[TopicPartition, int]
    leaving: frozenset[TopicPartition]
    certificate: int | None


def _packed(route: RouteView, division: Division, limits: Limits, scope: Scope) -> _Packed:
    """Packs the free partitions on the carriers that no hot partition has for itself."""
    free, carriers = division.free, division.carriers
    certificate = 0 if scope is Scope.STICKY else None
    if not carriers:
        return _Packed({}, frozenset(), certificate)
    index = {carrier: at for at, carrier in enumerate(carriers)}
    shares, base = _shares(route, division), _base(route, division)
    where = np.array([index.get(route.before.get(each, -1), UNPLACED) for each in free], np.int64)
    pinned = Counter(division.pins.values())
    room = limits.partitions_max - np.array([pinned[carrier] for carrier in carriers], np.int64)
    room = np.maximum(0, room)
    leaving = _leaving(shares, where, room)
    where[leaving] = UNPLACED
    if scope is Scope.STICKY:
        repair = repaired(shares, where, base, limits.slack, room)
        chosen, certificate = repair.where, repair.certificate
    else:
        is_pinned = np.isin(carriers, list(pinned))
        chosen = _renumbered(packed(shares, base, room).where, where, is_pinned)
    return _Packed(
        where={
            each: carriers[at]
            for each, at in zip(free, chosen.tolist(), strict=True)
            if at != UNPLACED
        },
        leaving=frozenset(free[at] for at in leaving.tolist()),
        certificate=certificate,
    )


def _bound(route: RouteView, division: Division) -> float:
    if not division.carriers:
        return 0.0
    base = _base(route, division)
    return heaviest_at_least(_shares(route, division), len(division.carriers), base)


def _shares(route: RouteView, division: Division) -> Shares:
    return np.array([route.shares[each] for each in division.free], dtype=np.float64)


def _base(route: RouteView, division: Division) -> Shares:
    """Returns the pinned load of each carrier."""
    by_carrier = loads(division.pins, route.shares, division.carriers)
    return np.array([*by_carrier.values()], dtype=np.float64)


def _leaving(shares: Shares, where: Carriers, room: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the smallest items of each carrier that holds more items than it may."""
    found = [np.empty(0, dtype=np.int64)]
    for carrier in np.flatnonzero(
        np.bincount(where[where != UNPLACED], minlength=len(room)) > room
    ):
        held = np.flatnonzero(where == carrier)
        order = held[np.argsort(shares[held], kind="stable")]
        found.append(order[: len(held) - room[carrier]])
    return np.concatenate(found)


def _renumbered(chosen: Carriers, before: Carriers, is_pinned: NDArray[np.bool_]) -> Carriers:
    """Returns the same packing with its carriers renumbered, so that many items stay.

    Carriers with a pinned partition keep their number.
    """
    carriers = len(is_pinned)
    both = (chosen != UNPLACED) & (before != UNPLACED)
    overlap = np.zeros((carriers, carriers), dtype=np.int64)
    np.add.at(overlap, (chosen[both], before[both]), 1)
    number = np.where(np.append(is_pinned, False), np.arange(carriers + 1), UNPLACED)
    is_taken = is_pinned.copy()
    shared = np.flatnonzero(overlap)
    most = shared[np.argsort(-overlap.ravel()[shared], kind="stable")]
    for pair in most.tolist():
        new, old = divmod(pair, carriers)
        if number[new] == UNPLACED and not is_taken[old]:
            number[new], is_taken[old] = old, True
    number[:-1][number[:-1] == UNPLACED] = np.flatnonzero(~is_taken)
    return number[chosen]  # UNPLACED, -1, picks the last entry


def _reason_of(
    route: RouteView, division: Division, leaving: Set[TopicPartition], scope: Scope
) -> Callable[[TopicPartition], Reason]:
    """Returns a function that gives the reason why a partition moves."""
    carriers, of_hot_ones = set(route.carriers), set(division.alone.values())

    def reason(partition: TopicPartition) -> Reason:
        before = route.before.get(partition)
        if partition in division.pins:
            return Reason.PINNED
        if before is None:
            return Reason.NEW
        if before not in carriers:
            return Reason.CARRIER_GONE
        if partition in division.alone:
            return Reason.HOT
        if before in of_hot_ones:
            return Reason.MAKES_ROOM
        if partition in leaving:
            return Reason.TOO_MANY
        return Reason.FULL_PLAN if scope is Scope.FULL else Reason.RELIEVES

    return reason
