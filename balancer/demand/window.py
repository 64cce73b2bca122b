"""Windows of a source log's growth, and the rate to expect from many of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

PERCENT = 95
"""Percentage of the time that has no higher rate than the expected one. The maximum would be one
burst, which a lag of seconds absorbs; the mean would be too little for half of the time. Of a few
windows this percentile is only their maximum. That is noise, and placing by noise moves partitions.
So the less of the time the windows cover, the more their mean counts instead."""


class Rate(NamedTuple):
    """Growth of a source log per second; bytes as they are in the log, compressed."""

    bytes_per_second: float
    records_per_second: float


@dataclass(frozen=True, slots=True)
class Window:
    """Growth of a source log between two times, in milliseconds since 1970.

    Raises ValueError when the window has no length or the log has shrunk: do not store such a
    window.
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
    """Returns the rate that was not exceeded for PERCENT of a period; None if no window ends in it.

    When the windows cover only part of the period, the result lies between that rate and their
    mean. The smaller the part, the nearer it is to the mean. Bytes and records are computed
    separately, since they need not be high at the same time.

    Args:
        windows: windows in any order, without overlaps. A window that began before the period
            counts with the part that lies within the period.
        now_ms: end of the period, in milliseconds since 1970.
        length_ms: length of the period.
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
    """Returns the lowest rate that is not exceeded for PERCENT of the windows' time."""
    order = np.argsort(rates, kind="stable")
    passed = np.cumsum(np.array(passed_ms, dtype=np.int64)[order])
    at = int((100 * passed >= PERCENT * passed[-1]).argmax())
    return rates[int(order[at])]
