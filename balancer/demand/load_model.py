"""What a rate of traffic takes of a carrier's time.

A carrier is one pipeline: what it does for bytes and what it does for records adds up. Batches that
it carries as they are cost next to nothing for their records; those that it opens are decoded and
made anew, so each kind has factors of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from balancer.demand.window import Rate

WINDOWS_MIN = 8
"""Fewer say nothing of two factors."""
SECONDS_MIN = 1e-3
COUNT_MAX = 1e15
ALIKE = 10.0
"""A condition number: with records of 20 to 2000 bytes it is small, with all within 5 % of one size
far above; there a tenth of noise alone would decide."""


class NotFitted(ValueError):
    """The windows do not say what bytes and records cost; the factors in force stay."""


class Saturated(NamedTuple):
    """What one carrier carried of one kind of batches while it had more than it could.

    Args:
        busy_seconds: of its own time.
    """

    busy_seconds: float
    bytes: int
    records: int


@dataclass(frozen=True, slots=True)
class Factors:
    """Seconds of a carrier's time."""

    per_byte: float
    per_record: float

    def __post_init__(self) -> None:
        both = (self.per_byte, self.per_record)
        if not (all(map(isfinite, both)) and min(both) >= 0 and max(both) > 0):
            raise ValueError(f"{self}: one factor has to be above 0, and none below")

    @classmethod
    def of_capacity(cls, bytes_per_second: float) -> Self:
        """A carrier that is taken to move so many bytes a second, whatever the records."""
        if not (isfinite(bytes_per_second) and bytes_per_second >= 1):
            raise ValueError(f"a capacity of {bytes_per_second:g} bytes a second: give 1 or more")
        return cls(1 / bytes_per_second, 0.0)

    @classmethod
    def fitted(cls, windows: Sequence[Saturated]) -> Self:
        """The factors, none below 0, that come nearest to what was measured (least squares of the
        relative error, so that long windows have no more weight than short ones).

        Raises:
            NotFitted
        """
        if len(windows) < WINDOWS_MIN:
            raise NotFitted(
                f"{len(windows)} windows of saturated carriers; {WINDOWS_MIN} are needed"
            )
        for window in windows:
            if not SECONDS_MIN <= window.busy_seconds < inf:
                raise NotFitted(f"{window}: no time in which anything can be carried")
            if not (1 <= window.bytes <= COUNT_MAX and 1 <= window.records <= COUNT_MAX):
                raise NotFitted(f"{window}: what was carried is not what a saturated carrier does")
        rows = np.array([(w.bytes, w.records) for w in windows], dtype=np.float64)
        rows /= np.array([window.busy_seconds for window in windows])[:, None]
        scale = np.linalg.norm(rows, axis=0)
        rows /= scale
        if np.linalg.cond(rows) > ALIKE:
            raise NotFitted(
                "the records of all windows are of about one size, which tells what they cost, and "
                "not how much of it is for bytes"
            )
        both, *_ = np.linalg.lstsq(rows, np.ones(len(rows)))
        if (both < 0).any():
            both = _one_alone(rows)
        return cls(*(both / scale).tolist())


def _one_alone(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """With two factors the best one would be below 0: the better of those with one at 0."""
    alone = rows.sum(axis=0) / (rows**2).sum(axis=0)
    errors = ((rows * alone - 1) ** 2).sum(axis=0)
    return np.where(np.arange(2) == errors.argmin(), alone, 0.0)


@dataclass(frozen=True, slots=True)
class LoadModel:
    """Shares of a carrier's time.

    Args:
        drain_seconds: a lag is to be caught up within this time.
        lag_share_max: no lag counts for more than this, however long it has become.
    """

    unopened: Factors
    opened: Factors
    drain_seconds: float = 600.0
    lag_share_max: float = 0.5

    def __post_init__(self) -> None:
        if not self.drain_seconds > 0:
            raise ValueError(f"drain_seconds is {self.drain_seconds:g}: give more than 0")
        if not self.lag_share_max >= 0:
            raise ValueError(f"lag_share_max is {self.lag_share_max:g}: 0 or more")

    def share(
        self, rate: Rate, *, opened_part: float = 0.0, lag: tuple[int, int] = (0, 0)
    ) -> float:
        """What a partition takes of a carrier: 1.0 is all of its time.

        Args:
            opened_part: how much of the traffic comes in batches that have to be opened, 0 to 1.
            lag: bytes and records that are behind.
        """
        if not 0 <= opened_part <= 1:
            raise ValueError(f"{opened_part:g} of the batches are opened: a part is from 0 to 1")
        if min(lag) < 0:
            raise ValueError(f"a lag of {lag[0]} bytes, {lag[1]} records")
        per_byte = self._mixed(self.unopened.per_byte, self.opened.per_byte, opened_part)
        per_record = self._mixed(self.unopened.per_record, self.opened.per_record, opened_part)
        flow = per_byte * rate.bytes_per_second + per_record * rate.records_per_second
        behind = (per_byte * lag[0] + per_record * lag[1]) / self.drain_seconds
        return flow + min(behind, self.lag_share_max)

    @staticmethod
    def _mixed(unopened: float, opened: float, part: float) -> float:
        return unopened * (1 - part) + opened * part
