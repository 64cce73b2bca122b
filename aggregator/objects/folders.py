"""Folders: the encoded partition of each record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from aggregator.formats.record_slice import RecordSlice

Ints = npt.NDArray[np.int64]


class Folders(NamedTuple):
    """Folders of records.

    Args:
        names: different encoded partitions.
        number: of each record's in `names`.
    """

    names: list[str]
    number: Ints

    @classmethod
    def of(cls, names: Sequence[str], number: Ints) -> Self:
        """Returns the folders of records, where a name may come repeatedly."""
        different, again = np.unique(np.array(names, dtype=object), return_inverse=True)
        return cls(different.tolist(), again[number])

    def split(self, records: RecordSlice) -> Mapping[str, RecordSlice]:
        """Returns the records of each encoded partition, in offset order."""
        if len(self.names) == 1:
            return {self.names[0]: records}
        # Once together, they are copied with one call. A slice that points to few records between
        # many others costs more than its records with each use.
        together = records.copied(np.argsort(self.number, kind="stable"))
        ends = np.cumsum(np.bincount(self.number, minlength=len(self.names))).tolist()
        found = zip(self.names, pairwise([0, *ends]), strict=True)
        return {name: together.at(slice(begin, end)) for name, (begin, end) in found if begin < end}
