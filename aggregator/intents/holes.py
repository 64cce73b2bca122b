"""Holes: offsets of a partition without a record, such as those of control batches and of records
that compaction removed."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Holes:
    """Number of offsets without a record from a reference on, up to any offset that was read.

    Args:
        offset: where reading begins.
        before: number of holes from the reference to `offset`.
    """

    def __init__(self, offset: int, before: int = 0) -> None:
        self._position = offset
        self._before = before
        self._ahead: deque[tuple[int, int]] = deque()

    def add(self, offsets: Ints, next_offset: int) -> None:
        """Notes what was read: the offsets of the records, ascending, up to `next_offset`."""
        begin, self._position = self._position, next_offset
        if next_offset - begin == len(offsets):
            return
        starts = np.concatenate(([begin], offsets + 1))
        lengths = np.append(offsets, next_offset) - starts
        for at in np.flatnonzero(lengths):
            self._ahead.append((int(starts[at]), int(lengths[at])))

    def up_to(self, offset: int) -> int:
        """Returns the number of holes from the reference to an offset, which never goes back."""
        while self._ahead and self._ahead[0][0] < offset:
            begin, length = self._ahead.popleft()
            passed = min(length, offset - begin)
            self._before += passed
            if passed < length:
                self._ahead.appendleft((begin + passed, length - passed))
                break
        return self._before

    def take_back(self, number: int) -> None:
        """Counts so many of the holes that were noted last no longer."""
        while number and self._ahead:
            begin, length = self._ahead.pop()
            taken = min(length, number)
            number -= taken
            if taken < length:
                self._ahead.append((begin, length - taken))
        self._before -= number

    def restart(self, reference: int) -> None:
        """Counts from a new reference, below which nothing is asked for any more."""
        self.up_to(reference)
        self._before = 0
