"""Restore range: the part of a topic that is restored, by offsets of its partitions and by time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from aggregator.formats.record_slice import NO_TIME
from aggregator.objects.told_object import ToldObject

_OFFSETS = re.compile(r"(?P<partition>[0-9]{1,9}):(?P<begin>[0-9]{0,18})-(?P<end>[0-9]{0,18})")


class BadRange(ValueError):
    """The request names no range of records. Ask again; the text says how."""


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets begin..end-1 of a partition; without an end all from begin on."""

    begin: int = 0
    end: int | None = None


WHOLE = OffsetRange()


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRange:
    """Part of a topic.

    Args:
        offsets: of the partitions that are restored; empty: all partitions, whole.
        since_ms, until_ms: timestamps from the first up to, not including, the second; with one of
            them, records without a timestamp are left out.
    """

    offsets: Mapping[int, OffsetRange] = field(default_factory=lambda: MappingProxyType({}))
    since_ms: int | None = None
    until_ms: int | None = None

    def of(self, partition: int) -> OffsetRange | None:
        """Returns the offsets of a partition; None for one that is not restored."""
        return self.offsets.get(partition) if self.offsets else WHOLE

    @property
    def has_times(self) -> bool:
        return self.since_ms is not None or self.until_ms is not None

    def may_hold(self, told: ToldObject) -> bool:
        """Returns True if an object may hold records of the range's time."""
        return not told.is_empty and self.may_be_within(told.first_ms, told.last_ms)

    def may_be_within(self, first_ms: int, last_ms: int) -> bool:
        """Returns True if records with these least and greatest timestamps may be of the range's
        time."""
        if not self.has_times:
            return True
        is_late = self.until_ms is not None and first_ms >= self.until_ms
        is_early = self.since_ms is not None and last_ms < self.since_ms
        return first_ms != NO_TIME and not is_late and not is_early


def parsed_offsets(texts: Iterable[str]) -> dict[int, OffsetRange]:
    """Returns the ranges of texts such as 3:100-200, 3:100-, 3:-200 and 3:-. Raises BadRange."""
    ranges: dict[int, OffsetRange] = {}
    for text in texts:
        found = _OFFSETS.fullmatch(text)
        if found is None:
            raise BadRange(f"{text!r} is no range; 3:100-200 is offsets 100 to 199 of partition 3")
        partition = int(found["partition"])
        if partition in ranges:
            raise BadRange(f"{text!r}: partition {partition} has a range already")
        end = int(found["end"]) if found["end"] else None
        ranges[partition] = OffsetRange(int(found["begin"] or 0), end)
        if end is not None and end <= ranges[partition].begin:
            raise BadRange(f"{text!r} is empty: the end is the first offset that is left out")
    return ranges
