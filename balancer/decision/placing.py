"""Places a route's partitions on its carriers: with few moves, or everything anew.

Pinned partitions stay where they are pinned. A hot partition, one with more than a carrier shall
carry, gets a carrier alone, and neither counts for the others' balance, as long as there are
carriers enough. What is left is packed.
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
    """How much a plan may change."""

    STICKY = "sticky"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class RouteView:
    """What a route's placement is made of.

    Args:
        shares: by partition, of a carrier's time.
        carriers: the numbers of those that are to carry.
        before: by partition, the carrier that carries it.
        pins: partitions that have to be on a certain one of the carriers.
    """

    shares: Mapping[TopicPartition, float]
    carriers: Collection[int]
    before: Where = field(default_factory=dict)
    pins: Where = field(default_factory=dict)


def place(view: RouteView, limits: Limits, scope: Scope) -> Placement:
    """The placement; the same view gives the same, byte for byte.

    Raises:
        ValueError: a share that is no load, no carriers, or a pin to none of them.
    """
    partitions = sorted(view.shares)
    _check(view, partitions)
    pins = {each: view.pins[each] for each in partitions if each in view.pins}
    hot = {each: view.shares[each] for each in partitions if view.shares[each] > limits.threshold}
    alone = _alone(view, hot, pins)
    fixed = pins | alone
    free = [each for each in partitions if each not in fixed]
    carriers = sorted(set(view.carriers) - set(alone.values()))
    found = _packed(view, free, carriers, pins, limits, scope)
    placed = fixed | found.where
    where = {each: placed[each] for each in partitions if each in placed}
    return Placement(
        where=where,
        moves=tuple(_moves(view, where, pins, alone, found.surplus, scope)),
        loads=_loads(view, where),
        hot=hot,
        homeless=tuple(each for each in partitions if each not in where),
        bound=found.bound,
        certificate=found.certificate,
    )


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


# -- hot ones


def _alone(
    view: RouteView, hot: Mapping[TopicPartition, float], pins: Where
) -> dict[TopicPartition, int]:
    """The hot partitions that get a carrier without any that is free, and which one: the hottest
    first, as long as one carrier is left for all the others."""
    carriers = sorted(set(view.carriers))
    are_all_hot = len(hot) == len(view.shares) and len(hot) <= len(carriers)
    most = len(carriers) if are_all_hot else len(carriers) - 1
    present = Counter(
        carrier
        for each, carrier in view.before.items()
        if each in view.shares and each not in hot and each not in pins
    )
    is_pinned = {carrier for each, carrier in pins.items() if each not in hot}
    chosen: dict[TopicPartition, int] = {}
    for partition in sorted(hot, key=lambda each: (-hot[each], each)):
        if len(chosen) == most:
            break
        taken = {*chosen.values(), *(at for each, at in pins.items() if each != partition)}
        if partition in pins:
            candidates = [] if pins[partition] in chosen.values() else [pins[partition]]
        else:
            candidates = [at for at in carriers if at not in taken and at not in is_pinned]
        if candidates:
            before = view.before.get(partition)
            # Where the fewest have to move, itself among them.
            chosen[partition] = min(
                candidates, key=lambda at: (present[at] + (at != before), at != before, at)
            )
    return chosen


# -- the others


@dataclass(frozen=True, slots=True)
class _Packed:
    where: dict[TopicPartition, int]
    surplus: frozenset[TopicPartition]
    bound: float
    certificate: int | None


def _packed(
    view: RouteView,
    free: Sequence[TopicPartition],
    carriers: Sequence[int],
    pins: Where,
    limits: Limits,
    scope: Scope,
) -> _Packed:
    """What is free, on the carriers that no hot one has for itself."""
    certificate = 0 if scope is Scope.STICKY else None
    if not carriers:
        return _Packed({}, frozenset(), 0.0, certificate)
    index = {carrier: at for at, carrier in enumerate(carriers)}
    shares = np.array([view.shares[each] for each in free], dtype=np.float64)
    where = np.array([index.get(view.before.get(each, -1), HOMELESS) for each in free], np.int64)
    base, room = np.zeros(len(carriers)), np.full(len(carriers), limits.partitions_max)
    for partition, carrier in pins.items():
        if carrier in index:
            base[index[carrier]] += view.shares[partition]
            room[index[carrier]] -= 1
    room = np.maximum(0, room)
    surplus = _surplus(shares, where, room)
    where[surplus] = HOMELESS
    if scope is Scope.STICKY:
        repair = repaired(shares, where, base, limits.slack, room)
        chosen, certificate = repair.where, repair.certificate
    else:
        is_pinned = np.isin(carriers, list(pins.values()))
        chosen = _renumbered(packed(shares, base, room).where, where, is_pinned)
    return _Packed(
        where={
            each: carriers[at]
            for each, at in zip(free, chosen.tolist(), strict=True)
            if at != HOMELESS
        },
        surplus=frozenset(free[at] for at in surplus.tolist()),
        bound=heaviest_at_least(shares, len(carriers), base),
        certificate=certificate,
    )


def _surplus(shares: Shares, where: Carriers, room: NDArray[np.int64]) -> NDArray[np.int64]:
    """The items that a carrier has above what it may hold, the smallest first."""
    found = [np.empty(0, dtype=np.int64)]
    for carrier in np.flatnonzero(
        np.bincount(where[where != HOMELESS], minlength=len(room)) > room
    ):
        held = np.flatnonzero(where == carrier)
        order = held[np.argsort(shares[held], kind="stable")]
        found.append(order[: len(held) - room[carrier]])
    return np.concatenate(found)


def _renumbered(chosen: Carriers, before: Carriers, is_pinned: NDArray[np.bool_]) -> Carriers:
    """The same packing, with its carriers numbered so that much stays where it was; those that have
    a pin keep their number."""
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
    return number[chosen]  # the last is HOMELESS's


# -- what came of it


def _loads(view: RouteView, where: Where) -> dict[int, float]:
    loads = dict.fromkeys(sorted(view.carriers), 0.0)
    for partition, carrier in where.items():
        loads[carrier] += view.shares[partition]
    return loads


def _moves(
    view: RouteView,
    where: Where,
    pins: Where,
    alone: Where,
    surplus: Set[TopicPartition],
    scope: Scope,
) -> list[Move]:
    carriers, of_hot_ones = set(view.carriers), set(alone.values())
    found = []
    for partition, carrier in where.items():
        before = view.before.get(partition)
        if before == carrier:
            continue
        if partition in pins:
            reason = Reason.PINNED
        elif before is None:
            reason = Reason.NEW
        elif before not in carriers:
            reason = Reason.CARRIER_GONE
        elif partition in alone:
            reason = Reason.HOT
        elif before in of_hot_ones:
            reason = Reason.MAKES_ROOM
        elif partition in surplus:
            reason = Reason.TOO_MANY
        else:
            reason = Reason.FULL_PLAN if scope is Scope.FULL else Reason.RELIEVES
        found.append(Move(partition, before, carrier, reason))
    return found
