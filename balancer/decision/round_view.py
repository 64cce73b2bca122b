"""View of a round: the knowledge about a route when the round begins."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from balancer.decision.placing import Scope
from balancer.decision.standing import Standing
from balancer.plan import TopicPartition


@dataclass(frozen=True, slots=True)
class Orders:
    """Orders of the operators.

    Args:
        pins: prescribed carrier of each pinned partition.
        excluded: carriers that must not be used, and why.
        paused: True when only mandatory moves are made.
        by_hand: scope of a manual plan that is to be made now; given for one round.
    """

    pins: Mapping[TopicPartition, int] = field(default_factory=dict)
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
        standing: state that the last round left; None before the first round.
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
