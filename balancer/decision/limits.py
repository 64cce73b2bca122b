"""What a route's carriers may come to."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one route.

    Args:
        carriers_min, carriers_max: never fewer, never more.
        threshold: how much of a carrier's time is planned; the rest is for bursts.
        partitions_max: for each carrier.
        room_setting: the setting that partitions_max follows from, by its name.
        slack: how far above the least possible the heaviest carrier may be, as a part of it, before
            a sticky plan moves anything.
        idle: while no carrier has more than this of its time, none is worth relieving.
        calm_rounds: so many rounds in a row fewer carriers must do before there are fewer.

    Raises ValueError, naming the one that cannot be.
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
