"""A log that is followed: how far it was read, and what was read of it since.

Offsets of a log are given out a second time only when its topic was made anew or it was cut; an era
counts these times. So a record's place, (era, offset), says which of two is the newer one
(docs/decisions/0009).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

Record = TypeVar("Record")


class Version(NamedTuple):
    """A place in the log; the larger of two is the newer one."""

    era: int
    log_offset: int


class Told(NamedTuple, Generic[Record]):
    """What a record says, and where it stands."""

    version: Version
    record: Record


class Position(NamedTuple):
    """Everything before this offset of one partition of the log was read.

    leader_epoch is of the last record that was read, -1 when not known: by it a broker sees that a
    log was cut and has grown again since.
    """

    topic_id: str
    era: int
    offset: int = 0
    leader_epoch: int = -1

    def anew(self) -> Position:
        """The beginning, after the log was cut."""
        return Position(self.topic_id, self.era + 1)


@dataclass(frozen=True, slots=True)
class Portion(Generic[Record]):
    """Everything that was read of one partition between two positions.

    Args:
        caught_up_ms: all that stood in the log at this time has been read; None: no news of that.
    """

    begin: Position
    end: Position
    told: tuple[Told[Record], ...] = ()
    caught_up_ms: int | None = None

    @property
    def is_news(self) -> bool:
        """The log was read since; without that, a portion only says where reading begins."""
        return self.begin != self.end or self.caught_up_ms is not None


def of_today(positions: Mapping[int, Position]) -> dict[int, Position]:
    """Those of the topic as it was last seen.

    Of a topic that was made anew with fewer partitions, the former ones' positions stay behind.
    """
    newest = max(positions.values(), key=lambda it: it.era, default=None)
    return {
        number: it for number, it in positions.items() if newest and it.topic_id == newest.topic_id
    }


def first_era(positions: Mapping[int, Position]) -> int:
    """Every record of an era before this one was read of a topic that is no more.

    A cut begins a new era in its partition alone. Where all partitions were cut, this is later than
    the topic itself: what its log told before and does not hold now is left out as well.
    """
    return min((it.era for it in of_today(positions).values()), default=0)


def beginnings(
    positions: Mapping[int, Position], topic_id: str, partitions: Iterable[int]
) -> dict[int, Position]:
    """From where to read each partition; what belongs to another topic of that name is passed over.

    A topic made anew may have other partitions, and a key may lie in another one: its era is
    larger than any before.
    """
    anew = max((position.era for position in positions.values()), default=-1) + 1
    return {
        number: position
        if (position := positions.get(number)) and position.topic_id == topic_id
        else Position(topic_id, anew)
        for number in partitions
    }


class Reading(Generic[Record]):
    """One partition on its way from a position on: what was found, and whether that is all."""

    def __init__(self, position: Position) -> None:
        self.position = position
        self.is_cut = False
        """The log showed less than had been read of it: it has to be read anew."""
        self._begin = position
        # Nothing is claimed before the log has shown something.
        self._seen_to = -1
        self._told: list[Told[Record]] = []
        self._mark: tuple[int, int] | None = None

    def read(self, offset: int, leader_epoch: int, record: Record | None) -> None:
        """A record; None where it says nothing that matters."""
        if self._is_behind(offset):
            return
        if record is not None:
            self._told.append(Told(Version(self.position.era, offset), record))
        self.position = self.position._replace(offset=offset + 1, leader_epoch=leader_epoch)
        self._seen_to = offset + 1

    def reach(self, offset: int) -> None:
        """There is nothing more to be read now, and nothing was left out before this offset."""
        if not self._is_behind(offset):
            self._seen_to = offset

    def expect(self, log_end: int, at_ms: int) -> None:
        """The log ended here at that time, whether or not all of it may be read already.

        The first one counts until it is reached: the end of a busy log runs ahead for ever.
        """
        if self._mark is None:
            self._mark = log_end, at_ms

    def take(self) -> Portion[Record] | None:
        """What was found since the last call; None when there is nothing to be told."""
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
