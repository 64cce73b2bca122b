"""Record fields: key, value and headers of opened records as columns, without a copy.

Layout of a record behind its offset delta: key length, key, value length, value, number of headers,
headers. Lengths are zigzag varints, and -1 stands for null. Source of the layout:
org.apache.kafka.common.record.DefaultRecord.
"""

from __future__ import annotations

import numpy as np

from aggregator.formats.record_slice import Ints, RecordSlice
from replicator.batches.batch import BrokenBatch
from replicator.batches.records import Octets, Records
from replicator.batches.varints import BrokenVarints, read_signed

HEADER_BYTES_MIN = 2
"""Size of a header with an empty key and an empty or null value."""


def split(records: Records) -> RecordSlice:
    """Returns key, value and headers of the records as positions in the same data.

    Raises:
        BrokenBatch: lengths of a record do not add up; names the offset range of all the records.
    """
    octets = np.frombuffer(records.data, dtype=np.uint8)
    try:
        key_begin, key_end, behind_key = field_at(octets, records.tail, records.end)
        value_begin, value_end, behind = field_at(octets, behind_key, records.end)
        _check_headers(octets, behind, records.end)
    except BrokenVarints as error:
        first, last = int(records.offset[0]), int(records.offset[-1])
        raise BrokenBatch(first, last, f"fields of its records cannot be read ({error})") from error
    return RecordSlice(
        records.data,
        records.offset,
        records.timestamp,
        key_begin,
        key_end,
        value_begin,
        value_end,
        behind,
        records.end,
    )


def field_at(octets: Octets, at: Ints, limit: Ints) -> tuple[Ints, Ints, Ints]:
    """Returns begin and end of the field at each position, both -1 for null, and what is behind it.

    Raises:
        BrokenVarints: a field is not within its limit.
    """
    length, begin = read_signed(octets, at)
    if (begin > limit).any() or (length > limit - begin).any() or (length < -1).any():
        raise BrokenVarints("a field ends behind its record")
    is_null = length < 0
    if not is_null.any():
        return begin, begin + length, begin + length
    end = np.where(is_null, -1, begin + length)
    return np.where(is_null, -1, begin), end, np.maximum(begin, end)


def _check_headers(octets: Octets, at: Ints, end: Ints) -> None:
    """Checks that the headers have room; their own lengths are checked where they are read."""
    count, begin = read_signed(octets, at)
    room = end - begin
    if (count < 0).any() or (count > room // HEADER_BYTES_MIN).any():
        raise BrokenVarints("headers end behind their record")
    if ((count == 0) & (room != 0)).any():
        raise BrokenVarints("a record goes on behind its fields")
