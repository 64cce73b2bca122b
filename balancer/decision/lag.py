"""Lag of a route: the partitions that have been far behind for long, and the plans for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from balancer.decision.settings import Rules
from balancer.topic_partition import TopicPartition

UNKNOWN_MS_MAX = 90_000
"""Age above which the last known lag counts as unknown: more than one round, whose default is a
minute."""


@dataclass(frozen=True, slots=True)
class Lag:
    """Lag of a route, and the plans that were made for it; times in milliseconds since 1970.

    Args:
        behind: partitions with more lag than `lag_seconds_max`, and since when.
        planned_ms: time of the first plan for the lag; None without lag or without a plan.
        is_full_plan: True when a full plan was made for the lag.
        seen: time at which the lag of each of these partitions was last known.
    """

    behind: Mapping[TopicPartition, int] = field(default_factory=lambda: MappingProxyType({}))
    planned_ms: int | None = None
    is_full_plan: bool = False
    seen: Mapping[TopicPartition, int] = field(
        default_factory=lambda: MappingProxyType({}), compare=False
    )

    def observed(
        self, lag_seconds: Mapping[TopicPartition, float], rules: Rules, now_ms: int
    ) -> Lag:
        """Returns the state after an observation.

        A lag that is unknown for a moment, as while a partition changes carriers, counts as it was.
        A partition whose lag has been unknown for longer is not behind. Once no partition lags, the
        plans that were made are forgotten.
        """
        behind = {
            partition: min(self.behind.get(partition, now_ms), now_ms)
            for partition, seconds in sorted(lag_seconds.items())
            if seconds > rules.lag_seconds_max
        }
        seen = dict.fromkeys(behind, now_ms)
        for partition, since in self.behind.items():
            seen_ms = min(self.seen.get(partition, since), now_ms)
            if partition not in lag_seconds and now_ms - seen_ms <= UNKNOWN_MS_MAX:
                behind[partition], seen[partition] = min(since, now_ms), seen_ms
        lag = replace(self, behind=behind, seen=seen)
        return lag if lag.lagging(rules, now_ms) else Lag(behind, seen=seen)

    def lagging(self, rules: Rules, now_ms: int) -> tuple[TopicPartition, ...]:
        """Returns the partitions that have been behind for `lag_patience_seconds`, in order."""
        latest_ms = now_ms - 1000 * rules.lag_patience_seconds
        return tuple(sorted(each for each, since in self.behind.items() if since <= latest_ms))

    def stays(self, rules: Rules, now_ms: int) -> bool:
        """Returns True when lag outlasts a sticky plan by `lag_patience_seconds`.

        After a full plan it returns False.
        """
        if self.planned_ms is None or self.is_full_plan:
            return False
        return now_ms - self.planned_ms >= 1000 * rules.lag_patience_seconds

    def shifted(self, by_ms: int) -> Lag:
        """Returns the same lag with all times so much later."""
        return replace(
            self,
            behind={partition: since + by_ms for partition, since in self.behind.items()},
            planned_ms=None if self.planned_ms is None else self.planned_ms + by_ms,
            seen={partition: at + by_ms for partition, at in self.seen.items()},
        )

    def planned(self, now_ms: int, *, is_full_plan: bool) -> Lag:
        """Returns the state after a plan for the lag; the time of an earlier plan stays."""
        planned_ms = now_ms if self.planned_ms is None else self.planned_ms
        return replace(self, planned_ms=planned_ms, is_full_plan=is_full_plan)
