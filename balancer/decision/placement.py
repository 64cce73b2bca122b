"""Placement of one route's partitions, with the moves and their reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from balancer.plan import TopicPartition


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
        homeless: partitions for which no carrier has room.
        bound: lower bound for the heaviest carrier without a hot partition. It holds for placements
            in which no partition shares a carrier with a hot one.
        certificate: number of moves that any plan within the slack needs to relieve carriers
            without a hot partition; None in a full plan, which does not aim at few moves.
    """

    where: Mapping[TopicPartition, int]
    moves: tuple[Move, ...]
    loads: Mapping[int, float]
    hot: Mapping[TopicPartition, float]
    homeless: tuple[TopicPartition, ...]
    bound: float
    certificate: int | None
