"""Plan of loaders: places the partitions of every feed and cluster. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from aggregator.driver.feed_posting import FeedCluster
from balancer.carrier_plan import CarrierId, Plan, carriers_shared_out
from balancer.packing.fresh import packed
from balancer.packing.shares import UNPLACED
from balancer.packing.sticky import repaired
from balancer.topic_partition import TopicPartition

SLACK = 0.25
"""Part by which the heaviest loader may exceed the least possible before partitions move: a move
ends the epoch of all loaders."""

PAUSE_SECONDS = (5.0, 60.0)
"""Least and longest time between two plans while there are open objects."""
QUIET_PAUSES = 4
"""Pauses without a plan after which the next ones may follow sooner again."""

Weights = Mapping[TopicPartition, float]
"""Traffic of partitions, in any unit."""


def plan_loaders(
    partitions: Mapping[FeedCluster, Iterable[TopicPartition]],
    slots: int,
    before: Plan,
    weights: Mapping[FeedCluster, Weights],
) -> Plan:
    """Returns the next plan; `before` itself when nothing has to change.

    Args:
        slots: how many Spark tasks can run at once.
        weights: of partitions whose traffic is known; all others count as the mean of those.
    """
    counts = carriers_shared_out([each.key for each in partitions], slots)
    loads: dict[CarrierId, tuple[TopicPartition, ...]] = {}
    for each, wanted in partitions.items():
        ordered = sorted(wanted)
        count = min(counts[each.key], max(1, len(ordered)))
        where = _placed(ordered, count, each, before, weights.get(each, {}))
        for number in range(count):
            load = tuple(p for p, at in zip(ordered, where, strict=True) if at == number)
            loads[CarrierId(each.key, number)] = load
    return before if loads == dict(before.loads) else Plan(before.version + 1, loads)


def _placed(
    ordered: list[TopicPartition],
    count: int,
    each: FeedCluster,
    before: Plan,
    weights: Weights,
) -> list[int]:
    if not ordered:
        return []
    known = [weights[p] for p in ordered if p in weights]
    mean = sum(known) / len(known) if known and sum(known) else 1.0
    # A partition without traffic still takes a part of a loader's time.
    shares = np.array([max(weights.get(p, mean), mean / 100) for p in ordered])
    shares = shares / shares.sum()
    base = np.zeros(count)
    held = {p: c.number for c in before.carriers(each.key) for p in before.loads[c]}
    if len(before.carriers(each.key)) != count:
        return [int(at) for at in packed(shares, base).where]
    where = np.array([held.get(p, UNPLACED) for p in ordered])
    return [int(at) for at in repaired(shares, where, base, SLACK).where]


class PlanPace:
    """Cool-down of plans: each one ends the epoch of all loaders, whose open objects begin anew.

    The first change after a quiet time is followed at once. While changes go on, such as topics
    that are made one after another, each plan has the next one wait twice as long.
    """

    def __init__(self) -> None:
        self._last: float | None = None
        self._pause = 0.0

    def seconds_left(self, now: float) -> float:
        """Returns how long the next plan has to wait."""
        return 0.0 if self._last is None else max(0.0, self._last + self._pause - now)

    def made(self, now: float) -> None:
        """Notes a plan."""
        least, longest = PAUSE_SECONDS
        quiet = now - self._last if self._last is not None else longest * QUIET_PAUSES
        is_quiet = quiet >= QUIET_PAUSES * self._pause
        self._pause = min(longest, max(least, self._pause * (0.5 if is_quiet else 2.0)))
        self._last = now
