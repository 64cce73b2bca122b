"""Places a route's partitions on its carriers: with few moves, or everything anew.

Pinned partitions stay where they are pinned. A hot partition, one with more than a carrier shall
carry, gets a carrier alone, and neither counts for the others' balance. What is left is packed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from balancer.decision.limits import Limits
from balancer.decision.placement import Move, Placement, Reason
from balancer.packing.bounds import heaviest_at_least
from balancer.packing.fresh import packed
from balancer.packing.shares import HOMELESS, Carriers, checked
from balancer.packing.sticky import repaired
from balancer.plan import TopicPartition


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
    carriers: Sequence[int]
    before: Mapping[TopicPartition, int] = field(default_factory=dict)
    pins: Mapping[TopicPartition, int] = field(default_factory=dict)


def place(view: RouteView, limits: Limits, scope: Scope) -> Placement:
    """The placement; the same view gives the same, byte for byte.

    Raises:
        BadShare: a share that is no load.
        ValueError: no carriers, or a pin to none of them.
    """
    partitions = sorted(view.shares)
    checked([view.shares[each] for each in partitions])
    pins = _pins(view)
    hot = {each: view.shares[each] for each in partitions if view.shares[each] > limits.threshold}
    alone = _alone(view, {each for each in hot if each not in pins}, pins)
    fixed = pins | alone
    free = [each for each in partitions if each not in fixed]
    carriers = sorted(set(view.carriers) - set(alone.values()))
    found = _packed(view, free, carriers, pins, limits, scope)
    where = {each: at for each, at in (fixed | found.where).items() if at is not None}
    where = {each: where[each] for each in partitions if each in where}
    return Placement(
        where=where,
        moves=tuple(_moves(view, where, pins, hot, set(alone.values()), scope)),
        loads=_loads(view, where),
        hot=hot,
        homeless=tuple(each for each in partitions if each not in where),
        bound=found.bound,
        certificate=found.certificate,
    )


def _pins(view: RouteView) -> dict[TopicPartition, int]:
    if not view.carriers:
        raise ValueError("the route has no carrier: give it one or more")
    pins = {each: at for each, at in view.pins.items() if each in view.shares}
    for partition, carrier in sorted(pins.items()):
        if carrier not in view.carriers:
            raise ValueError(
                f"{partition.topic}-{partition.partition} is pinned to carrier {carrier}; "
                f"the route has {', '.join(map(str, sorted(view.carriers)))}: unpin it, or pin it "
                "to one of these"
            )
    return pins


def _alone(
    view: RouteView, hot: set[TopicPartition], pins: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """For each hot partition a carrier of its own, its own before if that can be; the hottest ones
    first, as long as one carrier is left for all the others."""
    counts = Counter(view.before.values())
    taken = set(pins.values())
    free = [carrier for carrier in sorted(view.carriers) if carrier not in taken]
    fits = len(hot) == len(view.shares) and len(hot) <= len(free)
    spared = 0 if fits or taken else 1
    hottest = sorted(hot, key=lambda each: (-view.shares[each], each))
    chosen: dict[TopicPartition, int] = {}
    hottest = hottest[: len(free) - spared]
    for partition in hottest:
        if (before := view.before.get(partition)) in free:
            chosen[partition] = before
            free.remove(before)
    for partition in hottest:
        if partition not in chosen:
            # Where least has to leave.
            carrier = min(free, key=lambda at: (counts[at], at))
            chosen[partition] = carrier
            free.remove(carrier)
    return chosen


@dataclass(frozen=True, slots=True)
class _Packed:
    where: dict[TopicPartition, int]
    bound: float
    certificate: int | None


def _packed(
    view: RouteView,
    free: Sequence[TopicPartition],
    carriers: Sequence[int],
    pins: Mapping[TopicPartition, int],
    limits: Limits,
    scope: Scope,
) -> _Packed:
    """What is free, on the carriers that no hot one has for itself."""
    if not carriers:
        return _Packed({}, 0.0, None)
    index = {carrier: at for at, carrier in enumerate(carriers)}
    shares = np.array([view.shares[each] for each in free], dtype=np.float64)
    where = np.array([index.get(view.before.get(each, -1), HOMELESS) for each in free], np.int64)
    base, room = np.zeros(len(carriers)), np.full(len(carriers), limits.partitions_max)
    for partition, carrier in pins.items():
        base[index[carrier]] += view.shares[partition]
        room[index[carrier]] -= 1
    certificate = None
    if scope is Scope.STICKY:
        repair = repaired(shares, where, base, limits.slack, room)
        chosen, certificate = repair.where, repair.certificate
    else:
        chosen = packed(shares, base, room).where
        if not pins:
            chosen = _renumbered(chosen, where, len(carriers))
    bound = heaviest_at_least(shares, len(carriers), base)
    found = {
        each: carriers[at] for each, at in zip(free, chosen.tolist(), strict=True) if at != HOMELESS
    }
    return _Packed(found, bound, certificate)


def _renumbered(chosen: Carriers, before: Carriers, carriers: int) -> Carriers:
    """The same packing, with its carriers numbered so that much stays where it was."""
    both = (chosen != HOMELESS) & (before != HOMELESS)
    overlap = np.zeros((carriers, carriers), dtype=np.int64)
    np.add.at(overlap, (chosen[both], before[both]), 1)
    number = np.full(carriers + 1, HOMELESS)  # the last is HOMELESS's
    is_taken = np.zeros(carriers, dtype=bool)
    shared = np.flatnonzero(overlap)
    most = shared[np.argsort(-overlap.ravel()[shared], kind="stable")]
    for at in most.tolist():
        new, old = divmod(at, carriers)
        if number[new] == HOMELESS and not is_taken[old]:
            number[new], is_taken[old] = old, True
    number[:-1][number[:-1] == HOMELESS] = np.flatnonzero(~is_taken)
    return number[chosen]


def _loads(view: RouteView, where: Mapping[TopicPartition, int]) -> dict[int, float]:
    loads = dict.fromkeys(sorted(view.carriers), 0.0)
    for partition, carrier in where.items():
        loads[carrier] += view.shares[partition]
    return loads


def _moves(
    view: RouteView,
    where: Mapping[TopicPartition, int],
    pins: Mapping[TopicPartition, int],
    hot: Mapping[TopicPartition, float],
    alone: set[int],
    scope: Scope,
) -> list[Move]:
    found = []
    for partition, carrier in where.items():
        before = view.before.get(partition)
        if before == carrier:
            continue
        if partition in pins:
            reason = Reason.PINNED
        elif before is None:
            reason = Reason.NEW
        elif before not in view.carriers:
            reason = Reason.CARRIER_GONE
        elif partition in hot:
            reason = Reason.HOT
        elif before in alone:
            reason = Reason.MAKES_ROOM
        else:
            reason = Reason.FULL_PLAN if scope is Scope.FULL else Reason.RELIEVES
        found.append(Move(partition, before, carrier, reason))
    return found
