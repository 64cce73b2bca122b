"""Forgotten objects: ranges of a log whose objects the bucket has dropped.

The topic sluice.objects.<feed> has a manifest of each object. Where a lifecycle rule or a person
has deleted the object, `sluice aggregate forget` removes its manifest. In the same transaction the
record of its log says which offsets were forgotten, so that nobody takes them for offsets that were
never in an object. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from aggregator.formats.record_slice import NO_TIME
from aggregator.objects.told_object import ToldObject, UnreadableObject, decode

RANGES_MAX = 100
"""Ranges of a log; of more those are joined that lie closest together. They are 6 KB at most."""
_PREFIX = b"forgotten"


class Log(NamedTuple):
    """Log of a partition, as manifests name it."""

    cluster: str
    topic: str
    partition: int
    incarnation: int = 0

    @classmethod
    def of(cls, told: ToldObject) -> Log:
        """Returns the log that an object's records are of."""
        return cls(told.cluster, told.topic, told.partition, told.incarnation)


class ForgottenRange(NamedTuple):
    """Offsets begin..end-1, some of whose records were in objects that are forgotten.

    Args:
        objects, records: that are forgotten. Other objects may have further records of the range.
        first_ms, last_ms: least and greatest timestamp of these records; -1: none has one.
    """

    begin: int
    end: int
    objects: int
    records: int
    first_ms: int
    last_ms: int

    @classmethod
    def of(cls, told: ToldObject) -> ForgottenRange:
        """Returns the range of one object."""
        records = told.records - told.left_out
        objects = int(not told.is_empty)
        return cls(told.begin, told.end, objects, records, told.first_ms, told.last_ms)

    def __str__(self) -> str:
        text = f"{self.records} records of {self.objects} objects, offsets {self.begin}"
        return f"{text} to {self.end - 1}"

    def joined(self, other: ForgottenRange) -> ForgottenRange:
        """Returns a range that has both."""
        timed = [each for each in (self, other) if each.first_ms != NO_TIME]
        return ForgottenRange(
            min(self.begin, other.begin),
            max(self.end, other.end),
            self.objects + other.objects,
            self.records + other.records,
            min((each.first_ms for each in timed), default=NO_TIME),
            max((each.last_ms for each in timed), default=NO_TIME),
        )


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Forgotten objects of a log.

    Args:
        ranges: in order, none touching the next.
        at_ms: Unix time at which the last of them were forgotten.
        folder: of all that is forgotten; None: of several.
    """

    log: Log
    ranges: tuple[ForgottenRange, ...] = ()
    at_ms: int = 0
    folder: str | None = None

    @property
    def end(self) -> int:
        """Offset behind the last forgotten object: so far the log was in objects."""
        return max((each.end for each in self.ranges), default=0)

    @property
    def objects(self) -> int:
        return sum(each.objects for each in self.ranges)

    @property
    def records(self) -> int:
        return sum(each.records for each in self.ranges)

    def within(self, begin: int, end: int) -> tuple[ForgottenRange, ...]:
        """Returns the ranges that have any of the offsets begin..end-1."""
        return tuple(each for each in self.ranges if max(each.begin, begin) < min(each.end, end))

    def has(self, offset: int) -> bool:
        """Returns True if the record of an offset may have been in an object that is forgotten."""
        return bool(self.within(offset, offset + 1))

    def with_objects(self, gone: Iterable[ToldObject], at_ms: int) -> Forgotten:
        """Returns the same with further objects of the log."""
        gone = list(gone)
        ranges = _fewer(_disjoint([*self.ranges, *map(ForgottenRange.of, gone)]))
        folders = {self.folder} if self.ranges else set()
        folders |= {each.folder for each in gone}
        folder = folders.pop() if len(folders) == 1 else None
        return replace(self, ranges=tuple(ranges), at_ms=at_ms, folder=folder)

    @property
    def key(self) -> bytes:
        """Key of the record. No object has such a key: the last part of theirs is no number."""
        return b"/".join([_PREFIX, *(str(each).encode() for each in self.log)])

    def encode(self) -> bytes:
        """Returns the value of the record. A version that does not know it refuses to read on."""
        fields = {**self.log._asdict(), "forgotten": self.ranges, "at_ms": self.at_ms}
        fields |= {"folder": self.folder}
        return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()


class Removed(NamedTuple):
    """Tombstone of an object's manifest."""

    key: str


def decoded(key: bytes, value: bytes | None) -> ToldObject | Forgotten | Removed:
    """Returns what a record of the topic of objects says. Raises UnreadableObject."""
    if value is None:
        return Removed(key.decode(errors="replace"))
    if not _is_of_forgotten(key):
        return decode(key, value)
    try:
        found = json.loads(value)
        log = Log(**{name: found[name] for name in Log._fields})
        # A newer version may tell more.
        few = len(ForgottenRange._fields)
        ranges = tuple(ForgottenRange(*each[:few]) for each in found["forgotten"])
        return Forgotten(log, ranges, int(found["at_ms"]), found.get("folder"))
    except (ValueError, TypeError, KeyError) as error:
        text = f"the record of {key!r} cannot be read ({error}); was it written by a newer version?"
        raise UnreadableObject(text) from error


def _is_of_forgotten(key: bytes) -> bool:
    first, _, rest = key.partition(b"/")
    return first == _PREFIX and rest.rpartition(b"/")[2].isdigit()


def _disjoint(ranges: Iterable[ForgottenRange]) -> list[ForgottenRange]:
    """Returns ranges in order, with those joined that touch."""
    found: list[ForgottenRange] = []
    for each in sorted(ranges):
        if found and each.begin <= found[-1].end:
            found[-1] = found[-1].joined(each)
        else:
            found.append(each)
    return found


def _fewer(ranges: list[ForgottenRange]) -> list[ForgottenRange]:
    """Returns RANGES_MAX ranges at most. Those at the smallest gaps are joined: too many offsets
    count as forgotten then, and never too few."""
    surplus = len(ranges) - RANGES_MAX
    if surplus <= 0:
        return ranges
    gaps = sorted(range(1, len(ranges)), key=lambda at: ranges[at].begin - ranges[at - 1].end)
    closed = set(gaps[:surplus])
    found: list[ForgottenRange] = []
    for at, each in enumerate(ranges):
        if at in closed:
            found[-1] = found[-1].joined(each)
        else:
            found.append(each)
    return found
