"""Rotation: where an object ends. Pure.

Limits of records, bytes and record time depend on the log alone: whoever reads it again, ends the
objects at the same records. Limits of the wall clock do not; their objects are named by an intent
before anybody can see them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from aggregator.formats.record_slice import NO_TIME as NO_TIME

Ints = npt.NDArray[np.int64]


class Ending(StrEnum):
    """Limit that ended an object."""

    RECORDS = "records"
    BYTES = "bytes"
    RECORD_TIME = "record time"
    AGE = "age"
    TIME_OF_DAY = "time of day"
    SCHEMA = "schema"
    MEMORY = "memory"
    INTENT = "intent"
    """The intent had no room for another object."""
    HELD_BACK = "held back"
    """The object held back the committed offset too far."""
    LOG = "log"
    """The records behind are of another log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """Limits of an object; None: no limit of this kind.

    Args:
        records_max: number of records.
        bytes_max: bytes of keys, values and headers; the record that reaches them is the last one.
        interval_ms: of record time. A record of the Kafka partition so much younger than the
            object's first one ends it, also one that goes into another object.
        age_seconds: since the object's first record was read.
        times_of_day: at which all objects end, in `zone`.
        held_back_max: offsets from the one that an open object holds back to the reading position.
    """

    records_max: int | None = None
    bytes_max: int | None = None
    interval_ms: int | None = None
    age_seconds: float | None = None
    times_of_day: tuple[time, ...] = ()
    zone: tzinfo = UTC
    held_back_max: int | None = None

    def room(self, records: int, size_bytes: int, more: Ints) -> tuple[int, Ending | None]:
        """Returns how many of the next records an object takes, and the limit that it reaches then.

        Args:
            records, size_bytes: of the object so far, which is not full.
            more: bytes of each of the next records.
        """
        taken, ending = len(more), None
        if self.bytes_max is not None:
            reached = int(np.searchsorted(size_bytes + np.cumsum(more), self.bytes_max))
            if reached < taken:
                taken, ending = reached + 1, Ending.BYTES
        if self.records_max is not None and records + taken >= self.records_max:
            taken, ending = self.records_max - records, Ending.RECORDS
        return taken, ending

    def first_beyond(self, first_ms: int, timestamps: Ints) -> int | None:
        """Returns the index of the first record that ends an object by record time; None: none.

        Args:
            first_ms: timestamp of the object's first record that has one; NO_TIME: none has.
            timestamps: of records of the Kafka partition behind the object's first one.
        """
        if self.interval_ms is None or first_ms == NO_TIME:
            return None
        beyond = timestamps >= first_ms + self.interval_ms
        at = int(beyond.argmax()) if len(beyond) else 0
        return at if len(beyond) and beyond[at] else None

    def ending_by_clock(self, since: float, now: float) -> Ending | None:
        """Returns the limit of the wall clock that an object has reached; None: no one.

        Args:
            since: Unix time at which the object's first record was read.
            now: Unix time.
        """
        if self.age_seconds is not None and now - since >= self.age_seconds:
            return Ending.AGE
        if self.times_of_day and self._last_time_of_day(now) > since:
            return Ending.TIME_OF_DAY
        return None

    def holds_back_too_far(self, offset: int, position: int) -> bool:
        """Returns True if so much was read behind the committed offset that whatever holds it back
        has to end.

        Args:
            offset, position: the next intent's, and the next one to read.
        """
        return self.held_back_max is not None and position - offset > self.held_back_max

    def _last_time_of_day(self, now: float) -> float:
        """Returns the Unix time of the last of the times of day. One that a change of clocks leaves
        out counts as it would before the change."""
        today = datetime.fromtimestamp(now, self.zone).date()
        times = (
            datetime.combine(day, each, self.zone).timestamp()
            for day in (today, today - timedelta(days=1))
            for each in self.times_of_day
        )
        return max(each for each in times if each <= now)
