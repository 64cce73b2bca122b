"""One stretch of a source log's growth, and what many of them say about the rate to expect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

PERCENT = 95
"""So many hundredths of the time had a rate no higher. The maximum would be one burst, which a lag
of seconds absorbs; the mean would be too little for half of the time. Of a few windows this is no
more than their maximum, which is noise, and placing by noise moves partitions: the less of the time
windows tell of, the more their mean counts instead."""


class Rate(NamedTuple):
    """Of a source log's growth, per second; bytes as they are in the log, compressed."""

    bytes_per_second: float
    records_per_second: float


@dataclass(frozen=True, slots=True)
class Window:
    """What a source log took in from one time to another, in milliseconds since 1970.

    Raises ValueError where that cannot be: such a window is not to be stored.
    """

    begin_ms: int
    end_ms: int
    bytes: int
    records: int

    def __post_init__(self) -> None:
        if self.end_ms <= self.begin_ms:
            raise ValueError(f"a window from {self.begin_ms} to {self.end_ms} has no length")
        if self.bytes < 0 or self.records < 0:
            raise ValueError(f"a log that took in {self.bytes} bytes, {self.records} records")

    @property
    def seconds(self) -> float:
        return (self.end_ms - self.begin_ms) / 1000

    @property
    def rate(self) -> Rate:
        return Rate(self.bytes / self.seconds, self.records / self.seconds)


def sustained(windows: Iterable[Window], now_ms: int, length_ms: int) -> Rate | None:
    """The rate that was not exceeded for PERCENT of the time; None: no window ends within it.

    Where windows tell of a part of the time only, it lies between that rate and their mean: nearer
    to the mean, the smaller the part. Bytes and records each for themselves: they need not be high
    at the same time.

    Args:
        windows: in any order, and none over another. One that had begun before the time counts for
            what of it lies within.
        length_ms: the time is as long, until now.
    """
    begin_ms = now_ms - length_ms
    recent = [window for window in windows if window.end_ms > begin_ms]
    if not recent:
        return None
    passed_ms = [window.end_ms - max(window.begin_ms, begin_ms) for window in recent]
    rates = [window.rate for window in recent]
    return Rate(
        _expected([rate.bytes_per_second for rate in rates], passed_ms, length_ms),
        _expected([rate.records_per_second for rate in rates], passed_ms, length_ms),
    )


def _expected(rates: Sequence[float], passed_ms: Sequence[int], length_ms: int) -> float:
    told_of = min(1.0, sum(passed_ms) / length_ms)
    mean = float(np.average(rates, weights=passed_ms))
    return mean + told_of * (_quantile(rates, passed_ms) - mean)


def _quantile(rates: Sequence[float], passed_ms: Sequence[int]) -> float:
    """The lowest rate that is exceeded for no more than the rest of the time."""
    order = np.argsort(rates, kind="stable")
    passed = np.cumsum(np.array(passed_ms, dtype=np.int64)[order])
    at = int((100 * passed >= PERCENT * passed[-1]).argmax())
    return rates[int(order[at])]
