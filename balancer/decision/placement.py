"""What a decision about one route says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from balancer.plan import TopicPartition


class Reason(StrEnum):
    """Why a partition has another carrier than before."""

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
    """A partition goes from one carrier to another; `source` is None where it had none."""

    partition: TopicPartition
    source: int | None
    target: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Placement:
    """Which carrier of a route carries what.

    Args:
        where: by partition, its carrier.
        moves: against what was before, in the order of their partitions.
        loads: by carrier, what it is predicted to carry, of its time.
        hot: partitions with more than a carrier shall carry, each of them alone as long as there
            are carriers enough.
        homeless: partitions for which no carrier has room.
        bound: the heaviest of the carriers without a hot one has at least this much, if nothing is
            beside a hot one.
        certificate: so many moves that relieve a carrier, of those without a hot one, are in any
            plan within the slack; None in a full plan, which does not try to move little.
    """

    where: Mapping[TopicPartition, int]
    moves: tuple[Move, ...]
    loads: Mapping[int, float]
    hot: Mapping[TopicPartition, float]
    homeless: tuple[TopicPartition, ...]
    bound: float
    certificate: int | None

    def above(self, share: float) -> dict[int, float]:
        """The carriers that are predicted to carry more than that, with what they carry."""
        return {carrier: load for carrier, load in self.loads.items() if load > share}
