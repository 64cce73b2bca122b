"""Admission: which records of an object's range are in its file, and which become dead letters.

It depends on a record alone, so that whoever reads the range again leaves out the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from aggregator.files.decoding import Decode, decoded
from aggregator.formats.record_slice import RecordSlice
from aggregator.tables.decoded import DeadRecord

Check = Callable[[RecordSlice], dict[int, str]]
"""Returns why records cannot be in the file, by index."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """Records that were looked at.

    Args:
        records: for the file.
        dead: why others become dead letters.
        letters: these others, in one slice that keeps no fetched data in memory.
    """

    records: RecordSlice
    dead: tuple[DeadRecord, ...] = ()
    letters: tuple[RecordSlice, ...] = ()

    def without(self, reasons: Mapping[int, str]) -> Admitted:
        """Returns the same records, some of which become dead letters.

        Args:
            reasons: by index of a record for the file.
        """
        if not reasons:
            return self
        dead = np.array(sorted(reasons), np.int64)
        left = np.delete(np.arange(len(self.records)), dead)
        offsets = self.records.offset[dead].tolist()
        return Admitted(
            self.records.at(left),
            (*self.dead, *map(DeadRecord, offsets, (reasons[at] for at in dead.tolist()))),
            (*self.letters, self.records.at(dead).copied()),
        )


@dataclass(frozen=True, slots=True)
class Admission:
    """Admission to the files of one feed.

    Args:
        checks: the first one that refuses a record gives the reason.
        omits_tombstones: records with null values are left out, and are no dead letters.
        decode: of a file whose bytes are not those of the values.
    """

    checks: tuple[Check, ...] = ()
    omits_tombstones: bool = False
    decode: Decode | None = None

    def __call__(self, records: RecordSlice) -> Admitted:
        """Returns the records for the file, and those that become dead letters."""
        if self.omits_tombstones and (is_null := records.value_begin < 0).any():
            records = records.at(np.flatnonzero(~is_null))
        reasons: dict[int, str] = {}
        for check in self.checks:
            reasons = check(records) | reasons
        if self.decode is not None and len(records):
            records, undecodable = decoded(self.decode, records)
            reasons = undecodable | reasons
        return Admitted(records).without(reasons)


def tombstones(records: RecordSlice) -> dict[int, str]:
    """Refuses records with null values."""
    return dict.fromkeys(np.flatnonzero(records.value_begin < 0).tolist(), "a tombstone")
