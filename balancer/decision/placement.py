"""Placement of one route's partitions: its inputs, the moves with their reasons, and the loads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from balancer.topic_partition import TopicPartition

Where = Mapping[TopicPartition, int]
PartitionShares = Mapping[TopicPartition, float]


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

    shares: PartitionShares
    carriers: Collection[int]
    before: Where = field(default_factory=dict)
    pins: Where = field(default_factory=dict)


class Reason(StrEnum):
    """Reason why a partition has another carrier than before."""

    NEW = "new"
    CARRIER_GONE = "its carrier is gone"
    PINNED = "pinned"
    HOT = "hot: alone on a carrier"
    MAKES_ROOM = "makes room for a hot one"
    TOO_MANY = "its carrier has more than it may"
    RELIEVES = "relieves its carrier"
    FULL_PLAN = "everything was placed anew"


VOLUNTARY = frozenset({Reason.HOT, Reason.MAKES_ROOM, Reason.RELIEVES, Reason.FULL_PLAN})


@dataclass(frozen=True, slots=True)
class Move:
    """Move of a partition from one carrier to another; `source` is None when it had none."""

    partition: TopicPartition
    source: int | None
    target: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Placement:
    """Carriers of a route's partitions.

    Args:
        where: carrier of each partition.
        moves: changes from the previous placement, in the order of their partitions.
        loads: predicted load of each carrier, as a part of its time.
        hot: share of each partition above the threshold; each is alone on its carrier as long as
            there are enough carriers.
        unplaced: partitions for which no carrier has room.
        bound: lower bound for the heaviest carrier without a hot partition. It holds for placements
            in which no partition shares a carrier with a hot one.
        certificate: number of moves that any plan within the slack needs to relieve carriers
            without a hot partition; None in a full plan, which does not aim at few moves.
    """

    where: Where
    moves: tuple[Move, ...]
    loads: Mapping[int, float]
    hot: PartitionShares
    unplaced: tuple[TopicPartition, ...]
    bound: float
    certificate: int | None

    @property
    def calm_loads(self) -> list[float]:
        """Loads of the carriers without a hot partition."""
        return calm_loads(self.where, self.loads, self.hot)

    def excess(self, limit: float) -> float:
        """Returns the sum of the parts of these loads that exceed a limit."""
        return sum(max(0.0, load - limit) for load in self.calm_loads)


def moves_between(
    before: Where, where: Where, reason: Callable[[TopicPartition], Reason]
) -> tuple[Move, ...]:
    """Returns the moves from one placement to another, in the order of `where`."""
    return tuple(
        Move(each, before.get(each), carrier, reason(each))
        for each, carrier in where.items()
        if before.get(each) != carrier
    )


def voluntary(moves: Sequence[Move]) -> list[Move]:
    """Returns the moves that are not mandatory."""
    return [move for move in moves if move.reason in VOLUNTARY]


def loads(where: Where, shares: PartitionShares, carriers: Collection[int]) -> dict[int, float]:
    """Returns the load of each carrier; partitions elsewhere or without a share do not count."""
    found = dict.fromkeys(sorted(carriers), 0.0)
    for partition, carrier in where.items():
        if carrier in found and partition in shares:
            found[carrier] += shares[partition]
    return found


def calm_loads(
    where: Where, by_carrier: Mapping[int, float], hot: Iterable[TopicPartition]
) -> list[float]:
    """Returns the loads of the carriers without a hot partition.

    The load of a carrier with a hot partition cannot be balanced.
    """
    with_hot = {where[each] for each in hot if each in where}
    return [load for carrier, load in by_carrier.items() if carrier not in with_hot]


def surplus(where: Where, partitions_max: int) -> int:
    """Returns how many partitions the carriers hold above what each may hold, in total."""
    return sum(max(0, count - partitions_max) for count in Counter(where.values()).values())
