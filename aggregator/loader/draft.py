"""Draft of a block: the records that will form it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from aggregator.intents.table_range import TableRange

Ints = npt.NDArray[np.int64]


class Slice(Protocol):
    """Records of one table, in offset order."""

    @property
    def offset(self) -> Ints:
        """Offsets of the records, ascending."""

    @property
    def size_bytes(self) -> int: ...

    def between(self, begin: int, end: int) -> Self:
        """Returns the records with offsets from begin up to, not including, end."""


S = TypeVar("S", bound=Slice)


@dataclass(frozen=True, slots=True)
class Draft(Generic[S]):
    """Records of a block: offsets begin..end-1 of one table."""

    table: str
    begin: int
    end: int
    slices: tuple[S, ...]
    replayed: TableRange | None = None
    """The range of the intent that this block has to repeat."""

    @property
    def records(self) -> int:
        return sum(len(each.offset) for each in self.slices)

    @property
    def size_bytes(self) -> int:
        return sum(each.size_bytes for each in self.slices)

    def up_to(self, end: int) -> Draft[S]:
        """Returns the part of the draft below an offset."""
        slices = tuple(each.between(self.begin, end) for each in self.slices)
        return Draft(
            self.table, self.begin, end, tuple(each for each in slices if len(each.offset))
        )


def next_after(part: Slice) -> int:
    """Returns the offset behind the last record of a slice."""
    return int(part.offset[-1]) + 1
