"""Reading state of a tailed topic: its positions, its eras, and the records read since.

Offsets of a log are given out a second time only when its topic was recreated or the log was cut.
The era counts these events. The version of a record, (era, offset), therefore tells which of two
records is the newer one (docs/decisions/0009).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

Record = TypeVar("Record")


class Version(NamedTuple):
    """Era and offset of a record in the log; the larger of two versions is the newer one."""

    era: int
    log_offset: int


class VersionedRecord(NamedTuple, Generic[Record]):
    """Record of the log with its version."""

    version: Version
    record: Record


class TailPosition(NamedTuple):
    """Position in one partition of the log: everything before this offset was read.

    leader_epoch is that of the last record that was read, -1 when not known. With it a broker
    detects that a log was cut and has grown again since.
    """

    topic_id: str
    era: int
    offset: int = 0
    leader_epoch: int = -1

    def anew(self) -> TailPosition:
        """Returns the beginning of the log in the next era, after the log was cut."""
        return TailPosition(self.topic_id, self.era + 1)


@dataclass(frozen=True, slots=True)
class Portion(Generic[Record]):
    """Everything that was read of one partition between two positions.

    Args:
        caught_up_ms: everything that stood in the log at this time has been read; None: no news of
            that.
    """

    begin: TailPosition
    end: TailPosition
    told: tuple[VersionedRecord[Record], ...] = ()
    caught_up_ms: int | None = None

    @property
    def is_news(self) -> bool:
        """True when the log was read since; else the portion only names where reading begins."""
        return self.begin != self.end or self.caught_up_ms is not None


def of_today(positions: Mapping[int, TailPosition]) -> dict[int, TailPosition]:
    """Returns the positions in the topic as it was last seen.

    When a topic was recreated with fewer partitions, the positions of the others stay behind.
    """
    newest = max(positions.values(), key=lambda it: it.era, default=None)
    return {
        number: it for number, it in positions.items() if newest and it.topic_id == newest.topic_id
    }


def first_era(positions: Mapping[int, TailPosition]) -> int:
    """Returns the lowest era of the topic as last seen; records of earlier eras do not count.

    These were read of a topic that no longer exists. A cut begins a new era in its partition alone.
    Where all partitions were cut, the lowest era is later than the topic's first one. Records from
    before the cuts that the log no longer holds then do not count either.
    """
    return min((it.era for it in of_today(positions).values()), default=0)


def beginnings(
    positions: Mapping[int, TailPosition], topic_id: str, partitions: Iterable[int]
) -> dict[int, TailPosition]:
    """Returns the position from which to read each partition, after checking the topic id.

    Positions in an older topic of that name are ignored. A recreated topic may have other
    partitions, and a key may lie in another one. Its era is therefore larger than any before.
    """
    anew = max((position.era for position in positions.values()), default=-1) + 1
    return {
        number: position
        if (position := positions.get(number)) and position.topic_id == topic_id
        else TailPosition(topic_id, anew)
        for number in partitions
    }


class Reading(Generic[Record]):
    """Reading of one partition from a position on: the records found, and whether these are all."""

    def __init__(self, position: TailPosition) -> None:
        self.position = position
        self.is_cut = False
        """True once the log showed less than had been read of it: it has to be read anew."""
        self._begin = position
        # Below every offset: nothing is claimed before the log has shown something.
        self._seen_to = -1
        self._told: list[VersionedRecord[Record]] = []
        self._mark: tuple[int, int] | None = None

    def read(self, offset: int, leader_epoch: int, record: Record | None) -> None:
        """Takes a record; None for one that carries nothing relevant."""
        if self._is_behind(offset):
            return
        if record is not None:
            self._told.append(VersionedRecord(Version(self.position.era, offset), record))
        self.position = self.position._replace(offset=offset + 1, leader_epoch=leader_epoch)
        self._seen_to = offset + 1

    def reach(self, offset: int) -> None:
        """Notes that nothing more can be read now, with nothing left out before this offset."""
        if not self._is_behind(offset):
            self._seen_to = offset

    def expect(self, log_end: int, at_ms: int) -> None:
        """Notes that the log ended here at that time, whether or not all of it can be read already.

        The first end counts until it is reached: the end of a busy log runs ahead for ever.
        """
        if self._mark is None:
            self._mark = log_end, at_ms

    def take(self) -> Portion[Record] | None:
        """Returns the portion since the last call; None when it holds nothing new.

        After a cut, returns the beginning of the next era.
        """
        if self.is_cut:
            anew = self.position.anew()
            return Portion(anew, anew)
        caught_up_ms = None
        if self._mark and self._mark[0] <= self._seen_to:
            (_, caught_up_ms), self._mark = self._mark, None
        begin, self._begin = self._begin, self.position
        told, self._told = tuple(self._told), []
        if begin == self.position and caught_up_ms is None:
            return None
        return Portion(begin, self.position, told, caught_up_ms)

    def _is_behind(self, offset: int) -> bool:
        self.is_cut = self.is_cut or offset < self.position.offset
        return self.is_cut
