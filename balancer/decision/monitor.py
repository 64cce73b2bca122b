"""Which partitions have been far behind for long, from what is observed round by round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from balancer.decision.rules import Rules
from balancer.plan import TopicPartition

UNKNOWN_MS_MAX = 90_000
"""A lag that was last known longer ago counts as unknown: more than one round, whose default is a
minute."""


@dataclass(frozen=True, slots=True)
class Lag:
    """What is known of a route's lag, and what was done about it.

    Args:
        behind: partitions with more than they may, since when, in milliseconds since 1970.
        planned_ms: when a plan was made for those that lag; None where none do, or none was.
        is_all_anew: whether everything was placed anew for them.
        seen: when their lag was last known.
    """

    behind: Mapping[TopicPartition, int] = field(default_factory=lambda: MappingProxyType({}))
    planned_ms: int | None = None
    is_all_anew: bool = False
    seen: Mapping[TopicPartition, int] = field(
        default_factory=lambda: MappingProxyType({}), compare=False
    )

    def observed(
        self, lag_seconds: Mapping[TopicPartition, float], rules: Rules, now_ms: int
    ) -> Lag:
        """With what is seen now. A lag that is not known for a moment, as while a partition changes
        carriers, counts as it was; a partition of which no lag has been known for longer is not
        behind. Once none lags nothing counts as done."""
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
        """The partitions that have been behind for the patience, in order."""
        latest_ms = now_ms - 1000 * rules.lag_patience_seconds
        return tuple(sorted(each for each, since in self.behind.items() if since <= latest_ms))

    def stays(self, rules: Rules, now_ms: int) -> bool:
        """Whether a plan was made for them, and has been in force for the patience in vain."""
        if self.planned_ms is None or self.is_all_anew:
            return False
        return now_ms - self.planned_ms >= 1000 * rules.lag_patience_seconds

    def planned(self, now_ms: int, *, is_all_anew: bool) -> Lag:
        """With a plan that was made for those that lag."""
        planned_ms = now_ms if self.planned_ms is None else self.planned_ms
        return replace(self, planned_ms=planned_ms, is_all_anew=is_all_anew)
