"""Confluent header: what a serializer with a schema registry writes before a Protobuf message.

    0, id of the schema (4 bytes), number of indexes, indexes

Numbers are zigzag varints; the indexes lead to the message in its file, and a single 0 stands for
the indexes [0]. No field has the number 0, so no message begins with a 0, and a value that does has
a header. Source: io.confluent.kafka.schemaregistry.protobuf.MessageIndexes.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from aggregator.formats.byte_columns import taken
from aggregator.formats.record_slice import Ints
from aggregator.formats.time_texts import Flags
from aggregator.tables.value_limits import limits_of
from replicator.batches.varints import Octets, packed

MAGIC = 0
_ID_END = 5


def without_headers(values: pa.BinaryArray, index: int) -> tuple[pa.BinaryArray, Flags]:
    """Returns values without their headers, and True for each whose header names another message.

    Args:
        index: of the message in its file.
    """
    limits = limits_of(values)
    begin, end = limits[:-1].copy(), limits[1:]
    data = values.buffers()[2] or b""
    octets = np.frombuffer(data, np.uint8)
    which = np.flatnonzero(begin < end)
    which = which[octets[begin[which]] == MAGIC]
    other = np.zeros(len(values), np.bool_)
    if not len(which):
        return values, other
    other[which] = True
    for indexes in _written(index):
        same = _beginning_with(octets, begin, end, which, indexes)
        begin[same] += _ID_END + len(indexes)
        other[same] = False
    return taken(memoryview(data), begin, end), other


def _written(index: int) -> list[bytes]:
    """Returns all forms in which the indexes of a message may be written."""
    listed = packed([2 * 1, 2 * index])
    return [listed] if index else [b"\0", listed]


def _beginning_with(octets: Octets, begin: Ints, end: Ints, which: Ints, text: bytes) -> Ints:
    """Returns those of some values whose header ends with these bytes."""
    which = which[end[which] - begin[which] >= _ID_END + len(text)]
    for place, octet in enumerate(text, _ID_END):
        which = which[octets[begin[which] + place] == octet]
    return which
