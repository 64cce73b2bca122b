"""What is known of a route when a round begins."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from balancer.decision.placing import Scope
from balancer.decision.standing import Standing
from balancer.plan import TopicPartition


@dataclass(frozen=True, slots=True)
class Orders:
    """What operators have ordered.

    Args:
        pins: partitions that have to be on a certain carrier.
        excluded: carriers that are not to be used, and why.
        paused: nothing moves that need not.
        by_hand: a plan is to be made now, and may change so much; given for one round.
    """

    pins: Mapping[TopicPartition, int] = field(default_factory=dict)
    excluded: Mapping[int, str] = field(default_factory=dict)
    paused: bool = False
    by_hand: Scope | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundView:
    """Of one route.

    Args:
        now_ms: since 1970.
        partitions: that are to be carried.
        shares: of a carrier's time; of each of the partitions.
        measured: those whose share was measured, and lately.
        lag_seconds: of those of which it is known.
        standing: what the last round left; None before the first.
        slots: how many Spark tasks can run at once; None where that is not known.
        carriers_elsewhere: of other streams, which run in the same slots.
        silent: carriers that should report, and do not.
        degraded: why no share can be believed; None where they can.
        withdrawn: partitions that are not carried any more on purpose: these have not vanished.
        doubts: why a partition's rate was not believed.
    """

    route: str
    now_ms: int
    partitions: Set[TopicPartition]
    shares: Mapping[TopicPartition, float]
    measured: Set[TopicPartition] = frozenset()
    lag_seconds: Mapping[TopicPartition, float] = field(default_factory=dict)
    standing: Standing | None = None
    orders: Orders = field(default_factory=Orders)
    slots: int | None = None
    carriers_elsewhere: int = 0
    silent: Set[int] = frozenset()
    degraded: str | None = None
    withdrawn: Set[TopicPartition] = frozenset()
    doubts: Mapping[TopicPartition, str] = field(default_factory=dict)
    first_carrier: int = 0
