"""Places a route's partitions on its carriers: with few moves, or everything anew.

Pinned partitions go to the carriers of their pins. A partition above the threshold is hot: it gets
a carrier of its own as long as there are enough carriers. Such a partition and its carrier do not
count for the balance of the others. All other partitions are packed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from balancer.decision.limits import Limits
from balancer.decision.placement import Move, Placement, Reason
from balancer.packing.bounds import heaviest_at_least
from balancer.packing.fresh import packed
from balancer.packing.shares import HOMELESS, BadShare, Carriers, Shares, checked
from balancer.packing.sticky import repaired
from balancer.plan import TopicPartition

Where = Mapping[TopicPartition, int]


class Scope(StrEnum):
    """Extent of the changes that a plan may make."""

    STICKY = "sticky"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class RouteView:
    """Inputs of a route's placement.

    Args:
        shares: share of each partition, as a part of a carrier's time.
        carriers: numbers of the carriers to use.
        before: current carrier of each partition.
        pins: prescribed carrier of each pinned partition.
    """

    shares: Mapping[TopicPartition, float]
    carriers: Collection[int]
    before: Where = field(default_factory=dict)
    pins: Where = field(default_factory=dict)


def place(view: RouteView, limits: Limits, scope: Scope) -> Placement:
    """Returns the placement; the same view gives the same placement, byte for byte.

    Raises:
        ValueError: a share is no valid load, there is no carrier, or a pin names none of them.
    """
    partitions = sorted(view.shares)
    _check(view, partitions)
    parts = _parted(view, limits)
    found = _packed(view, parts, limits, scope)
    placed = parts.fixed | found.where
    where = {each: placed[each] for each in partitions if each in placed}
    return Placement(
        where=where,
        moves=tuple(_moves(view, where, parts, found.leaving, scope)),
        loads=_loads(view, where),
        hot=parts.hot,
        homeless=tuple(each for each in partitions if each not in where),
        bound=_bound(view, parts),
        certificate=found.certificate,
    )


def heaviest_of_any(view: RouteView, limits: Limits) -> float:
    """Returns a lower bound for the heaviest carrier without a hot partition.

    It holds for any placement in which hot partitions are alone.
    """
    return _bound(view, _parted(view, limits))


def _check(view: RouteView, partitions: Sequence[TopicPartition]) -> None:
    if not view.carriers:
        raise ValueError("the route has no carrier: give it one or more")
    try:
        checked([view.shares[each] for each in partitions])
    except BadShare as error:
        topic, number = partitions[error.item]
        raise ValueError(f"{topic}-{number}: {error}") from None
    for partition, carrier in sorted(view.pins.items()):
        if partition in view.shares and carrier not in view.carriers:
            raise ValueError(
                f"{partition.topic}-{partition.partition} is pinned to carrier {carrier}; "
                f"the route has {', '.join(map(str, sorted(view.carriers)))}: unpin it, or pin it "
                "to one of these"
            )


# -- hot partitions


@dataclass(frozen=True, slots=True)
class _Parts:
    """Division of a route's partitions.

    Args:
        pins: carrier of each pinned partition.
        hot: share of each hot partition.
        alone: carrier of each hot partition that has one without free partitions.
        free: partitions to pack, in order.
        carriers: carriers to pack them on, in order.
    """

    pins: Where
    hot: Mapping[TopicPartition, float]
    alone: Where
    free: Sequence[TopicPartition]
    carriers: Sequence[int]

    @property
    def fixed(self) -> dict[TopicPartition, int]:
        return {**self.pins, **self.alone}


def _parted(view: RouteView, limits: Limits) -> _Parts:
    partitions = sorted(view.shares)
    pins = {each: view.pins[each] for each in partitions if each in view.pins}
    hot = {each: view.shares[each] for each in partitions if view.shares[each] > limits.threshold}
    alone = _alone(view, hot, pins)
    free = [each for each in partitions if each not in pins and each not in alone]
    return _Parts(pins, hot, alone, free, sorted(set(view.carriers) - set(alone.values())))


def _alone(
    view: RouteView, hot: Mapping[TopicPartition, float], pins: Where
) -> dict[TopicPartition, int]:
    """Returns the carriers of the hot partitions that get one without free partitions.

    The hottest partitions come first, as long as one carrier is left for all others.
    """
    carriers = sorted(set(view.carriers))
    are_all_hot = len(hot) == len(view.shares) and len(hot) <= len(carriers)
    most = len(carriers) if are_all_hot else len(carriers) - 1
    present = Counter(
        carrier
        for each, carrier in view.before.items()
        if each in view.shares and each not in hot and each not in pins
    )
    has_pins = set(pins.values())
    unpinned = [at for at in carriers if at not in has_pins]
    chosen: dict[TopicPartition, int] = {}
    taken: set[int] = set()
    for partition in sorted(hot, key=lambda each: (-hot[each], each)):
        if len(chosen) == most:
            break
        candidates = [pins[partition]] if partition in pins else unpinned
        free = [at for at in candidates if at not in taken]
        if free:
            before = view.before.get(partition)
            # The carrier for which the fewest partitions move, this one included.
            carrier = min(free, key=lambda at: (present[at] + (at != before), at != before, at))
            chosen[partition] = carrier
            taken.add(carrier)
    return _settled(chosen, view.before, pins)


def _settled(
    chosen: Mapping[TopicPartition, int], before: Where, pins: Where
) -> dict[TopicPartition, int]:
    """Deals the carriers out again, so that no two unpinned hot partitions swap carriers."""
    free = {carrier for each, carrier in chosen.items() if each not in pins}
    found = {each: carrier for each, carrier in chosen.items() if each in pins}
    for each in chosen:
        if each not in pins and before.get(each) in free:
            found[each] = before[each]
            free.remove(before[each])
    left = sorted(free)
    return {each: found[each] if each in found else left.pop(0) for each in chosen}


# -- all other partitions


@dataclass(frozen=True, slots=True)
class _Packed:
    where: dict[TopicPartition, int]
    leaving: frozenset[TopicPartition]
    certificate: int | None


def _packed(view: RouteView, parts: _Parts, limits: Limits, scope: Scope) -> _Packed:
    """Packs the free partitions on the carriers that no hot partition has for itself."""
    free, carriers = parts.free, parts.carriers
    certificate = 0 if scope is Scope.STICKY else None
    if not carriers:
        return _Packed({}, frozenset(), certificate)
    index = {carrier: at for at, carrier in enumerate(carriers)}
    shares, base = _shares(view, parts), _base(view, parts)
    where = np.array([index.get(view.before.get(each, -1), HOMELESS) for each in free], np.int64)
    pinned = Counter(parts.pins.values())
    room = limits.partitions_max - np.array([pinned[carrier] for carrier in carriers], np.int64)
    room = np.maximum(0, room)
    leaving = _leaving(shares, where, room)
    where[leaving] = HOMELESS
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
            if at != HOMELESS
        },
        leaving=frozenset(free[at] for at in leaving.tolist()),
        certificate=certificate,
    )


def _bound(view: RouteView, parts: _Parts) -> float:
    if not parts.carriers:
        return 0.0
    return heaviest_at_least(_shares(view, parts), len(parts.carriers), _base(view, parts))


def _shares(view: RouteView, parts: _Parts) -> Shares:
    return np.array([view.shares[each] for each in parts.free], dtype=np.float64)


def _base(view: RouteView, parts: _Parts) -> Shares:
    """Returns the pinned load of each carrier."""
    found = dict.fromkeys(parts.carriers, 0.0)
    for partition, carrier in parts.pins.items():
        if carrier in found:
            found[carrier] += view.shares[partition]
    return np.array([*found.values()], dtype=np.float64)


def _leaving(shares: Shares, where: Carriers, room: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the smallest items of each carrier that holds more items than it may."""
    found = [np.empty(0, dtype=np.int64)]
    for carrier in np.flatnonzero(
        np.bincount(where[where != HOMELESS], minlength=len(room)) > room
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
    both = (chosen != HOMELESS) & (before != HOMELESS)
    overlap = np.zeros((carriers, carriers), dtype=np.int64)
    np.add.at(overlap, (chosen[both], before[both]), 1)
    number = np.where(np.append(is_pinned, False), np.arange(carriers + 1), HOMELESS)
    is_taken = is_pinned.copy()
    shared = np.flatnonzero(overlap)
    most = shared[np.argsort(-overlap.ravel()[shared], kind="stable")]
    for pair in most.tolist():
        new, old = divmod(pair, carriers)
        if number[new] == HOMELESS and not is_taken[old]:
            number[new], is_taken[old] = old, True
    number[:-1][number[:-1] == HOMELESS] = np.flatnonzero(~is_taken)
    return number[chosen]  # HOMELESS, -1, picks the last entry


# -- loads and moves


def _loads(view: RouteView, where: Where) -> dict[int, float]:
    loads = dict.fromkeys(sorted(view.carriers), 0.0)
    for partition, carrier in where.items():
        loads[carrier] += view.shares[partition]
    return loads


def _moves(
    view: RouteView,
    where: Where,
    parts: _Parts,
    leaving: Set[TopicPartition],
    scope: Scope,
) -> list[Move]:
    carriers, of_hot_ones = set(view.carriers), set(parts.alone.values())
    found = []
    for partition, carrier in where.items():
        before = view.before.get(partition)
        if before == carrier:
            continue
        if partition in parts.pins:
            reason = Reason.PINNED
        elif before is None:
            reason = Reason.NEW
        elif before not in carriers:
            reason = Reason.CARRIER_GONE
        elif partition in parts.alone:
            reason = Reason.HOT
        elif before in of_hot_ones:
            reason = Reason.MAKES_ROOM
        elif partition in leaving:
            reason = Reason.TOO_MANY
        else:
            reason = Reason.FULL_PLAN if scope is Scope.FULL else Reason.RELIEVES
        found.append(Move(partition, before, carrier, reason))
    return found
