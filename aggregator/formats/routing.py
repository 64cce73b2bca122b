"""Routing: the table of each record, by its topic or by one of its headers."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from aggregator.formats.byte_columns import taken
from aggregator.formats.record_fields import field_at
from aggregator.formats.record_slice import Ints, RecordSlice
from aggregator.tables.value_limits import limits_of
from replicator.batches.batch import BrokenBatch
from replicator.batches.records import Octets
from replicator.batches.varints import BrokenVarints, read_signed

NO_TABLE = ""
"""Name under which records without a table's name are found."""
NAME_BYTES_MAX = 255
"""Longest name of a table, as JSON writes it: file systems take no longer one, and an intent has
room for a block of such a table in any case."""


def by_table(records: RecordSlice, *, topic: str, header: str | None) -> dict[str, RecordSlice]:
    """Returns the records of each table; those without a table's name are under NO_TABLE.

    Args:
        header: that holds the table's name in UTF-8; the last one counts if it is repeated. One
            that is longer than any table's names none. None: the topic is the table's name.

    Raises:
        BrokenBatch: headers cannot be read; names the offset range of all the records.
    """
    if not len(records):
        return {}
    if header is None:
        return {topic: records}
    encoded = taken(records.data, records.headers_begin, records.headers_end).dictionary_encode()
    try:
        values = _values(encoded.dictionary, header.encode()).dictionary_encode()
    except BrokenVarints as error:
        first, last = int(records.offset[0]), int(records.offset[-1])
        raise BrokenBatch(first, last, f"its headers cannot be read ({error})") from error
    names = pa.array([_text(value) for value in values.dictionary.to_pylist()]).dictionary_encode()
    if len(names.dictionary) == 1:
        return {names.dictionary[0].as_py(): records}
    number = np.asarray(names.indices)[np.asarray(values.indices)][np.asarray(encoded.indices)]
    ends = np.cumsum(np.bincount(number, minlength=len(names.dictionary)))
    parts = np.split(np.argsort(number, kind="stable"), ends[:-1])
    return {
        table: records.at(part)
        for table, part in zip(names.dictionary.to_pylist(), parts, strict=True)
    }


def _text(value: bytes) -> str:
    try:
        name = value.decode()
    except UnicodeDecodeError:
        return NO_TABLE
    written = json.dumps(name, ensure_ascii=False)
    return name if len(written.encode()) <= NAME_BYTES_MAX + 2 else NO_TABLE


def _values(headers: pa.BinaryArray, header: bytes) -> pa.BinaryArray:
    """Returns the value of the header in each of these encoded headers; empty if there is none."""
    data = headers.buffers()[2]
    begin, end = _last_values(np.frombuffer(data, np.uint8), limits_of(headers), header)
    return taken(memoryview(data), begin, end)


def _last_values(octets: Octets, limits: Ints, header: bytes) -> tuple[Ints, Ints]:
    """Returns begin and end of the last value of a header in each of the encoded headers.

    Both are the same where the header is null or not there. All records are read in parallel,
    header by header.
    """
    end = limits[1:]
    count, at = read_signed(octets, limits[:-1])
    begins, ends = limits[:-1].copy(), limits[:-1].copy()
    for number in range(int(count.max(initial=0))):
        which = np.flatnonzero(count > number)
        key_begin, key_end, behind = field_at(octets, at[which], end[which])
        value_begin, value_end, at[which] = field_at(octets, behind, end[which])
        same = _equals(octets, key_begin, key_end, header)
        begins[which[same]] = np.where(value_begin < 0, behind, value_begin)[same]
        ends[which[same]] = np.where(value_begin < 0, behind, value_end)[same]
    if (at != end).any():
        raise BrokenVarints("headers do not fill their record")
    return begins, ends


def _equals(octets: Octets, begin: Ints, end: Ints, header: bytes) -> Ints:
    """Returns the indexes of the parts that hold these bytes."""
    same = np.flatnonzero(end - begin == len(header))
    for place, octet in enumerate(header):
        same = same[octets[begin[same] + place] == octet]
    return same
