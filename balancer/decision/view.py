"""View of a round: the knowledge about a route when the round begins."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from balancer.decision.freeze import Presence
from balancer.decision.placement import PartitionShares, Scope, Where
from balancer.decision.state import RoundState
from balancer.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class Orders:
    """Orders of the operators.

    Args:
        pins: prescribed carrier of each pinned partition.
        excluded: carriers that must not be used, and why.
        paused: True when only mandatory moves are made.
        by_hand: scope of a manual plan that is to be made now; given for one round.
    """

    pins: Where = field(default_factory=dict)
    excluded: Mapping[int, str] = field(default_factory=dict)
    paused: bool = False
    by_hand: Scope | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundView:
    """Knowledge about one route.

    Args:
        now_ms: time of the round, in milliseconds since 1970.
        partitions: partitions to carry.
        shares: share of each of the partitions, as a part of a carrier's time.
        measured: partitions whose share was measured recently.
        lag_seconds: lag of each partition whose lag is known.
        state: state that the last round left; None before the first round.
        orders: orders of the operators.
        slots: number of Spark tasks that can run at once; None when unknown.
        carriers_elsewhere: number of carriers of other streams, which run in the same slots.
        silent: carriers that should report and do not.
        degraded: reason why no share can be believed; None when shares can be.
        withdrawn: partitions that are not carried any more on purpose: these have not vanished.
        doubts: reason why a partition's rate was not believed.
        first_carrier: number that alerts give to carrier 0 of this view.
    """

    now_ms: int
    partitions: Set[TopicPartition]
    shares: PartitionShares
    measured: Set[TopicPartition] = frozenset()
    lag_seconds: Mapping[TopicPartition, float] = field(default_factory=dict)
    state: RoundState | None = None
    orders: Orders = field(default_factory=Orders)
    slots: int | None = None
    carriers_elsewhere: int = 0
    silent: Set[int] = frozenset()
    degraded: str | None = None
    withdrawn: Set[TopicPartition] = frozenset()
    doubts: Mapping[TopicPartition, str] = field(default_factory=dict)
    first_carrier: int = 0

    @property
    def before(self) -> RoundState:
        """State that the last round left; an empty state before the first round."""
        return self.state or RoundState()

    @property
    def vanished(self) -> Set[TopicPartition]:
        """Partitions of the last plan that are gone, and were not withdrawn."""
        return self.before.where.keys() - self.partitions - self.withdrawn

    @property
    def presence(self) -> Presence:
        """Counts of partitions and carriers that are still present."""
        before = self.before
        # New partitions cannot have been measured yet.
        known = self.partitions & before.where.keys() if before.where else self.partitions
        reporting = set(before.where.values())
        return Presence(
            partitions=len(known),
            measured=len(known & self.measured),
            # While nothing can be measured, the alert for unknown loads says so already.
            was_measured=before.freeze.was_measured and self.degraded is None,
            placed=len(before.where),
            vanished=len(self.vanished),
            vanished_seconds=before.freeze.vanished_seconds(self.now_ms),
            reporting=len(reporting),
            silent=len(reporting & self.silent),
        )
