"""Rules of a route's rounds: when it is planned anew, and how much moves at a time."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from balancer.decision.off_peak import DailyWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules of one route's rounds.

    Args:
        cool_down_seconds: time after voluntary moves, or a smaller number of carriers, in which no
            voluntary move is made.
        moves_max: maximum number of voluntary moves in one round.
        patience_rounds: rounds in a row in which a carrier has to exceed the slack before
            partitions move for it.
        lag_seconds_max, lag_patience_seconds: a partition lags when it has been more than
            `lag_seconds_max` behind for `lag_patience_seconds`.
        off_peak: daily window in UTC in which everything may be placed anew, such as "02:00-04:30";
            empty for never.

    Raises ValueError that names the invalid rule.
    """

    cool_down_seconds: float = 300
    moves_max: int = 100
    patience_rounds: int = 3
    lag_seconds_max: float = 30
    lag_patience_seconds: float = 60
    off_peak: str = ""

    def __post_init__(self) -> None:
        for name in ("cool_down_seconds", "lag_seconds_max", "lag_patience_seconds"):
            if not 0 <= getattr(self, name) < inf:
                raise ValueError(f"{name} is {getattr(self, name):g}: 0 or more")
        for name in ("moves_max", "patience_rounds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: 1 or more")
        if self.off_peak:
            DailyWindow.parsed(self.off_peak)

    @property
    def off_peak_window(self) -> DailyWindow | None:
        return DailyWindow.parsed(self.off_peak) if self.off_peak else None
