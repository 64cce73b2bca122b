"""Model of the look-back's expected rate: the same sum, window by window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from balancer.demand.last_hour import PERCENT
from balancer.demand.window import HOUR_MS, Rate, Window


def sustained(windows: Iterable[Window], now_ms: int) -> Rate | None:
    """Returns the rate that `LookBack.rates` describes; None if no window ends in the last hour.

    Args:
        windows: windows in any order, without overlaps.
        now_ms: end of the hour, in milliseconds since 1970.
    """
    begin_ms = now_ms - HOUR_MS
    recent = [window for window in windows if window.end_ms > begin_ms]
    if not recent:
        return None
    passed_ms = [window.end_ms - max(window.begin_ms, begin_ms) for window in recent]
    seconds = [(window.end_ms - window.begin_ms) / 1000 for window in recent]
    taken = [window.bytes / length for window, length in zip(recent, seconds, strict=True)]
    records = [window.records / length for window, length in zip(recent, seconds, strict=True)]
    return Rate(_expected(taken, passed_ms), _expected(records, passed_ms))


def _expected(rates: Sequence[float], passed_ms: Sequence[int]) -> float:
    covered = min(1.0, sum(passed_ms) / HOUR_MS)
    mean = float(np.average(rates, weights=passed_ms))
    return mean + covered * (_quantile(rates, passed_ms) - mean)


def _quantile(rates: Sequence[float], passed_ms: Sequence[int]) -> float:
    """Returns the lowest rate that is not exceeded for PERCENT of the windows' time."""
    order = np.argsort(rates, kind="stable")
    passed = np.cumsum(np.array(passed_ms, dtype=np.int64)[order])
    at = int((100 * passed >= PERCENT * passed[-1]).argmax())
    return rates[int(order[at])]
