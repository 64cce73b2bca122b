"""Undecodable records: records at which a decoder fails become dead letters; others are loaded.

A decoder names the records that it cannot read. Where it fails instead, by an error that nobody
foresaw, each loader would meet the same record and fail again: all its partitions would stand
still. So the records at which it fails are found by halving.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aggregator.formats.record_slice import RecordSlice
from aggregator.tables.decoded import DeadRecord, Decoded
from aggregator.tables.table_schema import TableSchema

log = logging.getLogger(__name__)

Decode = Callable[[Sequence[RecordSlice], TableSchema], Decoded]


@dataclass(frozen=True, slots=True)
class SettingAside:
    """Decoder that sets the records aside at which another decoder fails.

    Raises what that decoder raises for records of which each can be decoded alone.
    """

    decode: Decode

    def __call__(self, slices: Sequence[RecordSlice], schema: TableSchema) -> Decoded:
        """Returns the rows of the records, with a dead record for each failure."""
        try:
            return self.decode(slices, schema)
        except MemoryError:
            raise
        except Exception:
            log.exception("event=decoder-failed table=%s", schema.table)
        failed = [record for part in slices for record in self._failed(part, schema)]
        offsets = {record.offset for record in failed}
        found = self.decode([_without(part, offsets) for part in slices], schema)
        dead = sorted((*found.dead, *failed), key=lambda record: record.offset)
        return replace(found, dead=tuple(dead))

    def _failed(self, part: RecordSlice, schema: TableSchema) -> Iterator[DeadRecord]:
        """Yields the records at which the decoder fails, by offset."""
        try:
            self.decode([part], schema)
        except MemoryError:
            raise
        except Exception as error:
            if len(part) == 1:
                what = f"cannot be decoded: {type(error).__name__}: {error}"
                yield DeadRecord(int(part.offset[0]), f"{what:.300}")
                return
            middle = len(part) // 2
            yield from self._failed(part.at(slice(0, middle)), schema)
            yield from self._failed(part.at(slice(middle, len(part))), schema)


def _without(part: RecordSlice, offsets: set[int]) -> RecordSlice:
    if not offsets.intersection(part.offset.tolist()):
        return part
    return part.at(np.flatnonzero(~np.isin(part.offset, list(offsets))))
