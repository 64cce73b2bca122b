"""Set of offsets, kept as spans: begin included, end excluded."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Offsets = npt.NDArray[np.int64]

# Largest end of a span; Kafka's offsets are signed 64-bit numbers.
OFFSETS_END = 2**63 - 1


class Span(NamedTuple):
    """Offsets begin, begin + 1, ... end - 1."""

    begin: int
    end: int


class Spans:
    """Set of offsets. Spans that overlap or touch become one, so equal sets are equal values."""

    __slots__ = ("_begins", "_ends")

    def __init__(self, *spans: Span) -> None:
        self._begins: array[int] = array("q")
        self._ends: array[int] = array("q")
        for span in spans:
            self.add(span.begin, span.end)

    def add(self, begin: int, end: int) -> None:
        """Adds begin..end-1; in constant time at the end of the set, the usual case."""
        if begin >= end:
            return
        ends = self._ends
        if not ends or begin > ends[-1]:
            self._begins.append(begin)
            ends.append(end)
        elif begin >= self._begins[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            self.add_all(np.array([begin]), np.array([end]))

    def add_all(self, begins: Offsets, ends: Offsets) -> None:
        """Adds many spans at once, in any order."""
        mine_begins, mine_ends = self.columns()
        self._replace(
            *_united(np.concatenate([mine_begins, begins]), np.concatenate([mine_ends, ends]))
        )

    def remove_all(self, begins: Offsets, ends: Offsets) -> None:
        """Removes many spans from the set."""
        outside_begins, outside_ends = _complement(*self.columns())
        outside = _united(
            np.concatenate([outside_begins, begins]), np.concatenate([outside_ends, ends])
        )
        self._replace(*_complement(*outside))

    def remove(self, begin: int, end: int) -> None:
        """Removes begin..end-1 from the set."""
        self.remove_all(np.array([begin]), np.array([end]))

    def covers(self, begin: int, end: int) -> bool:
        """Returns True when every offset of begin..end-1 is in the set; True for an empty range."""
        if begin >= end:
            return True
        found = bisect_right(self._begins, begin) - 1
        return found >= 0 and self._ends[found] >= end

    def first_outside(self, begin: int) -> int:
        """Returns the first offset from begin on that is not in the set."""
        found = bisect_right(self._begins, begin) - 1
        return max(begin, self._ends[found]) if found >= 0 else begin

    def without(self, other: "Spans") -> "Spans":
        """Returns the offsets of this set that are not in the other."""
        rest = Spans()
        rest._replace(*self.columns())
        rest.remove_all(*other.columns())
        return rest

    def within(self, other: "Spans") -> "Spans":
        """Returns the offsets of this set that are also in the other."""
        return self.without(self.without(other))

    def columns(self) -> tuple[Offsets, Offsets]:
        """Returns copies of the begins and the ends, ascending."""
        return np.array(self._begins, dtype=np.int64), np.array(self._ends, dtype=np.int64)

    @property
    def end(self) -> int:
        """Offset behind the last one of the set; 0 for an empty set."""
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Span]:
        return map(Span, self._begins, self._ends)

    def __len__(self) -> int:
        return len(self._begins)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spans):
            return NotImplemented
        return self._begins == other._begins and self._ends == other._ends

    def __repr__(self) -> str:
        return f"Spans({', '.join(f'{begin}..{end}' for begin, end in self)})"

    def _replace(self, begins: Offsets, ends: Offsets) -> None:
        self._begins = array("q", begins.astype(np.int64).tobytes())
        self._ends = array("q", ends.astype(np.int64).tobytes())


def _united(begins: Offsets, ends: Offsets) -> tuple[Offsets, Offsets]:
    """Returns the same offsets in the fewest spans, ascending."""
    real = begins < ends
    order = np.argsort(begins[real], kind="stable")
    begins = begins[real][order]
    # The furthest end so far: a span that begins past it opens a new one.
    reach = np.maximum.accumulate(ends[real][order])
    if not len(begins):
        return begins, reach
    opens = np.concatenate([[True], begins[1:] > reach[:-1]])
    closes = np.concatenate([opens[1:], [True]])
    return begins[opens], reach[closes]


def _complement(begins: Offsets, ends: Offsets) -> tuple[Offsets, Offsets]:
    """Returns the offsets of 0..OFFSETS_END that ascending, separate spans leave out."""
    outside_begins = np.concatenate([np.zeros(1, dtype=np.int64), ends])
    outside_ends = np.concatenate([begins, np.full(1, OFFSETS_END, dtype=np.int64)])
    real = outside_begins < outside_ends
    return outside_begins[real], outside_ends[real]
