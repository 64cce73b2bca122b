"""Limits of a route's carriers: their number, their load and their partitions."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one route.

    Args:
        carriers_min, carriers_max: range of the number of carriers.
        threshold: part of a carrier's time that is planned; the rest is for bursts.
        partitions_max: maximum number of partitions of each carrier.
        room_setting: name of the setting that `partitions_max` follows from.
        slack: distance of the heaviest carrier above the lower bound, as a part of the bound, up to
            which a sticky plan moves nothing.
        idle: load, as a part of a carrier's time, up to which no carrier is worth relieving.
        calm_rounds: rounds in a row in which fewer carriers have to do before there are fewer.

    Raises ValueError that names the invalid limit.
    """

    carriers_min: int = 1
    carriers_max: int = 1000
    threshold: float = 0.7
    partitions_max: int = 10_000
    room_setting: str = "partitions_max"
    slack: float = 0.05
    idle: float = 0.0
    calm_rounds: int = 3

    def __post_init__(self) -> None:
        if self.carriers_min < 1:
            raise ValueError(
                f"carriers_min is {self.carriers_min}: a route has one carrier or more"
            )
        if self.carriers_max < self.carriers_min:
            raise ValueError(
                f"carriers_max is {self.carriers_max}, below carriers_min, {self.carriers_min}"
            )
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold is {self.threshold:g}: above 0, and 1 at most")
        if self.partitions_max < 1:
            raise ValueError(f"partitions_max is {self.partitions_max}: 1 or more")
        if not 0 <= self.slack < inf:
            raise ValueError(f"slack is {self.slack:g}: 0 or more")
        if not 0 <= self.idle <= 1:
            raise ValueError(f"idle is {self.idle:g}: from 0 to 1")
        if self.calm_rounds < 0:
            raise ValueError(f"calm_rounds is {self.calm_rounds}: 0 or more")
