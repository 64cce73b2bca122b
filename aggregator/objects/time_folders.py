"""Time folders: encoded partitions such as `year=2013/month=01/day=31/hour=23`, by a time."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo

import numpy as np

from aggregator.objects.folders import Folders, Ints
from aggregator.objects.hive_path import NO_VALUE

NEVER = -(2**63)
"""Time of a record that has none."""
BEGIN_MS, END_MS = -30_578_688_000_000, 253_402_214_400_000
"""From the year 1001 to the last day of 9999: years of four digits in each zone."""
STEADY_SINCE_MS = 63_072_000_000
"""Since 1972 the offset of each zone from UTC is whole quarters of an hour."""
QUARTER_MS, MINUTE_MS, SECOND_MS = 900_000, 60_000, 1_000
_DIRECTIVE = re.compile(r"%(.)")


def time_folders(pattern: str, zone: tzinfo, time_ms: Ints) -> Folders:
    """Returns the folders of times.

    Args:
        pattern: folders `name=value`, divided by slashes; a value may have %Y, %m, %d, %H and %M.
        time_ms: Unix times; those before BEGIN_MS, or from END_MS on, stand for no time.
    """
    step_ms = MINUTE_MS if "M" in _DIRECTIVE.findall(pattern) else QUARTER_MS
    steps = np.where(time_ms >= STEADY_SINCE_MS, step_ms, SECOND_MS)
    is_time = (time_ms >= BEGIN_MS) & (time_ms < END_MS)
    moments, moment_number = np.unique(
        np.where(is_time, time_ms - time_ms % steps, NEVER), return_inverse=True
    )
    nothing = without_time(pattern)
    names = [
        nothing if at == NEVER else datetime.fromtimestamp(at / 1000, zone).strftime(pattern)
        for at in moments.tolist()
    ]
    return Folders.of(names, moment_number)


def without_time(pattern: str) -> str:
    """Returns the folders of records without a time."""
    return "/".join(_without_value(folder) for folder in pattern.split("/"))


def _without_value(folder: str) -> str:
    name, _, value = folder.partition("=")
    return f"{name}={NO_VALUE if _DIRECTIVE.search(value) else value}"
