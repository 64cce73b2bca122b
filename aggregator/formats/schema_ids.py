"""Schema ids: the header that Confluent's serializers write before an Avro datum.

It is a zero, and the id of the schema in four bytes.
"""

from __future__ import annotations

import numpy as np

from aggregator.formats.record_slice import Ints, RecordSlice

HEADER_BYTES = 5
NO_ID = -1
"""Id of a value without a header, and of a null value."""


class SchemasWanted(Exception):
    """Records whose schemas are not known yet. Fetch these first.

    Args:
        ids: of the schemas.
    """

    def __init__(self, ids: frozenset[int]) -> None:
        super().__init__(f"schemas {sorted(ids)}")
        self.ids = ids


def schema_ids(records: RecordSlice) -> Ints:
    """Returns the schema's id of each value; NO_ID where there is none."""
    octets = np.frombuffer(records.data, np.uint8)
    begin = records.value_begin
    has_room = (begin >= 0) & (records.value_end - begin >= HEADER_BYTES)
    at = begin if has_room.all() else np.where(has_room, begin, 0)
    if not len(octets):
        return np.full(len(records), NO_ID, np.int64)
    # Values without room may be the last ones of the data.
    at = np.minimum(at, max(0, len(octets) - HEADER_BYTES))
    found = np.zeros(len(records), np.int64)
    for place in range(1, min(HEADER_BYTES, len(octets))):
        found = found << 8 | octets[at + place]
    return np.where(has_room & (octets[at] == 0), found, NO_ID)
