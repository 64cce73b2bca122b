"""When a route is planned anew, and how much of it moves at a time."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from balancer.decision.off_peak import DailyWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Of one route's rounds.

    Args:
        cool_down_seconds: after moves that nothing forced, none of these for so long.
        moves_max: so many of these in one round.
        patience_rounds: so many rounds in a row a carrier has more than the slack allows before
            anything moves.
        lag_seconds_max, lag_patience_seconds: a partition lags when it has been further behind than
            the one for as long as the other.
        off_peak: "02:00-04:30" in UTC, when everything may be placed anew; empty: never.
        measured_part_min: with less of the partitions measured, after it had been more, nothing
            moves that need not.
        vanished_part_max: nor with more than this part of the carriers silent, or of the partitions
            gone, at once.
        frozen_seconds_max: after this long partitions that are gone are taken to be deleted.

    Raises ValueError, naming the one that cannot be.
    """

    cool_down_seconds: float = 300
    moves_max: int = 100
    patience_rounds: int = 3
    lag_seconds_max: float = 30
    lag_patience_seconds: float = 60
    off_peak: str = ""
    measured_part_min: float = 0.8
    vanished_part_max: float = 0.4
    frozen_seconds_max: float = 1800

    def __post_init__(self) -> None:
        for name in (
            "cool_down_seconds",
            "lag_seconds_max",
            "lag_patience_seconds",
            "frozen_seconds_max",
        ):
            if not 0 <= getattr(self, name) < inf:
                raise ValueError(f"{name} is {getattr(self, name):g}: 0 or more")
        for name in ("moves_max", "patience_rounds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: 1 or more")
        for name in ("measured_part_min", "vanished_part_max"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name):g}: a part is from 0 to 1")
        if self.off_peak:
            DailyWindow.parsed(self.off_peak)

    @property
    def off_peak_window(self) -> DailyWindow | None:
        return DailyWindow.parsed(self.off_peak) if self.off_peak else None
