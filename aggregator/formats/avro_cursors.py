"""Avro cursors: where the next value of each datum is read; all datums are read in step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from aggregator.formats.record_slice import Ints
from aggregator.formats.time_texts import Flags
from aggregator.formats.varint_words import varints_at
from replicator.batches.varints import Octets, unsigned_to_signed


@dataclass(slots=True, eq=False)
class Cursors:
    """Cursors of datums, or of items within them.

    A datum that cannot be read is broken: its cursor stands at its end, and all further values of
    it are zero. Nothing is read beyond a datum's end, so what one holds changes no other.

    Args:
        octets: the data, with PADDING behind it.
        at, end: in ascending order.
        record: index of the record of each.
    """

    octets: Octets
    at: Ints
    end: Ints
    record: Ints
    is_broken: Flags

    def __len__(self) -> int:
        return len(self.at)

    @classmethod
    def over(cls, octets: Octets, begin: Ints, end: Ints, record: Ints) -> Self:
        """Returns cursors at the beginnings of datums."""
        return cls(octets, begin.copy(), end, record, np.zeros(len(begin), np.bool_))

    def some(self, which: Ints | slice) -> Self:
        """Returns these cursors; `rejoin` takes over where they moved to."""
        return type(self)(
            self.octets,
            self.at[which],
            self.end[which],
            self.record[which],
            self.is_broken[which],
        )

    def rejoin(self, which: Ints, part: Cursors) -> None:
        """Moves these cursors to where `some` of them have moved."""
        self.at[which] = part.at
        if part.is_broken.any():
            self.is_broken = self.is_broken.copy()
            self.is_broken[which] = part.is_broken

    def break_where(self, wrong: Flags) -> None:
        """Marks datums as broken."""
        if wrong.any():
            self.is_broken = self.is_broken | wrong
            self.at = np.where(wrong, self.end, self.at)

    def number(self) -> Ints:
        """Reads an int or long."""
        value, behind, bad = varints_at(self.octets, self.at)
        signed = unsigned_to_signed(value)
        bad |= behind > self.end
        self.at = behind
        if bad.any():
            self.break_where(bad)
            signed[bad] = 0
        return signed

    def octet(self) -> Octets:
        """Reads a byte."""
        octet: Octets = self.octets[self.fixed(1)]
        octet[self.is_broken] = 0
        return octet

    def fixed(self, size: int) -> Ints:
        """Passes so many bytes; returns where they begin, which means nothing for broken datums."""
        begin, self.at = self.at, self.at + size
        bad = self.at > self.end
        if bad.any():
            self.break_where(bad)
        return begin

    def content(self) -> tuple[Ints, Ints]:
        """Passes bytes that stand behind their length; returns where they begin and end."""
        size = self.number()
        begin = self.at
        bad = (size < 0) | (size > self.end - begin)
        if bad.any():
            self.break_where(bad)
            begin, size = np.where(bad, self.end, begin), np.where(bad, 0, size)
        self.at = begin + size
        return begin, self.at
