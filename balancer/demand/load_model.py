"""Load model: the part of a carrier's time that a rate of traffic takes.

A carrier is one pipeline, so its work for bytes and its work for records add up. Batches that it
carries unopened cost next to nothing for their records. Batches that it opens are decoded and
rebuilt, so each kind has its own factors.
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
"""Least number of windows that two factors are fitted to."""
SECONDS_MIN = 1e-3
COUNT_MAX = 1e15
ALIKE = 10.0
"""Largest condition number of a fit. Records of 20 to 2000 bytes give a small one. Records within
5 % of one size give a far larger one, and noise of a tenth alone would then decide the fit."""


class NotFitted(ValueError):
    """The windows do not show the costs of bytes and records; keep the active factors."""


class Saturated(NamedTuple):
    """Traffic of one kind of batches that a saturated carrier carried.

    Args:
        busy_seconds: time of the carrier that the traffic took.
        bytes: bytes that were carried.
        records: records that were carried.
    """

    busy_seconds: float
    bytes: int
    records: int


@dataclass(frozen=True, slots=True)
class Factors:
    """Cost of a byte and of a record, in seconds of a carrier's time.

    Raises ValueError when a factor is negative or not finite, or both are 0.
    """

    per_byte: float
    per_record: float

    def __post_init__(self) -> None:
        both = (self.per_byte, self.per_record)
        if not (all(map(isfinite, both)) and min(both) >= 0 and max(both) > 0):
            raise ValueError(f"{self}: one factor has to be above 0, and none below")

    @classmethod
    def of_capacity(cls, bytes_per_second: float) -> Self:
        """Returns the factors of a carrier that moves so many bytes a second, whatever the records.

        Raises ValueError when the capacity is below 1 byte a second or not finite.
        """
        if not (isfinite(bytes_per_second) and bytes_per_second >= 1):
            raise ValueError(f"a capacity of {bytes_per_second:g} bytes a second: give 1 or more")
        return cls(1 / bytes_per_second, 0.0)

    @classmethod
    def fitted(cls, windows: Sequence[Saturated]) -> Self:
        """Returns the factors, none below 0, that fit the windows best.

        The fit minimizes the squares of the relative error, so that long windows weigh no more than
        short ones.

        Raises:
            NotFitted: the windows are too few, implausible, or all of about one record size.
        """
        if len(windows) < WINDOWS_MIN:
            raise NotFitted(
                f"{len(windows)} windows of saturated carriers; {WINDOWS_MIN} are needed"
            )
        for window in windows:
            if not SECONDS_MIN <= window.busy_seconds < inf:
                raise NotFitted(f"{window}: not a possible time of a carrier")
            if not (1 <= window.bytes <= COUNT_MAX and 1 <= window.records <= COUNT_MAX):
                raise NotFitted(f"{window}: not a possible traffic of a saturated carrier")
        rows = np.array([(w.bytes, w.records) for w in windows], dtype=np.float64)
        rows /= np.array([window.busy_seconds for window in windows])[:, None]
        scale = np.linalg.norm(rows, axis=0)
        rows /= scale
        if np.linalg.cond(rows) > ALIKE:
            raise NotFitted(
                "the records of all windows are of about one size, so the costs of bytes and of "
                "records cannot be told apart"
            )
        both, *_ = np.linalg.lstsq(rows, np.ones(len(rows)))
        if (both < 0).any():
            both = _one_alone(rows)
        return cls(*(both / scale).tolist())


def _one_alone(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the better fit with one factor at 0; for windows whose best fit has one below 0."""
    alone = rows.sum(axis=0) / (rows**2).sum(axis=0)
    errors = ((rows * alone - 1) ** 2).sum(axis=0)
    return np.where(np.arange(2) == errors.argmin(), alone, 0.0)


@dataclass(frozen=True, slots=True)
class LoadModel:
    """Conversion of traffic into shares of a carrier's time.

    Args:
        unopened: factors of batches that are carried unopened.
        opened: factors of batches that have to be opened.
        drain_seconds: time within which a lag is to be caught up.
        lag_share_max: largest share that a lag adds, however long it has become.

    Raises ValueError when `drain_seconds` is not above 0 or `lag_share_max` is below 0.
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
        """Returns the part of a carrier's time that a partition takes: 1.0 for all of it.

        Args:
            rate: traffic of the source log.
            opened_part: part of the traffic in batches that have to be opened, 0 to 1.
            lag: bytes and records that the partition is behind.

        Raises ValueError when a value is out of its range.
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
