"""Schema values: datums of records, each by the schema that it was written with, in the schema of
their file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from aggregator.formats.avro_cursors import Cursors
from aggregator.formats.avro_projection import SAME, Projection, projection
from aggregator.formats.avro_schema import AvroType
from aggregator.formats.byte_columns import taken
from aggregator.formats.record_schema import RecordSchema, Schemas
from aggregator.formats.record_slice import Ints, RecordSlice
from aggregator.formats.schema_ids import HEADER_BYTES, NO_ID, schema_ids
from aggregator.formats.varint_words import PADDING
from aggregator.tables.value_limits import limits_of

Read = TypeVar("Read")

DATUMS_AT_ONCE = 32_768
"""Datums that are read in step: fewer cost more calls, more do not fit into a processor's cache."""


class Datums(NamedTuple):
    """Datums of one schema.

    Args:
        record: index of the record of each.
        values: without headers.
        how: they become those of the file's schema.
    """

    record: Ints
    values: pa.BinaryArray
    written: RecordSchema
    how: Projection

    def cursors(self) -> Iterator[tuple[slice, Cursors]]:
        """Yields cursors at the beginnings of so many datums as are read in step."""
        limits = limits_of(self.values)
        data = self.values.buffers()[2] or b""
        octets = np.concatenate((np.frombuffer(data, np.uint8), np.frombuffer(PADDING, np.uint8)))
        for begin in range(0, len(self.values), DATUMS_AT_ONCE):
            part = slice(begin, min(begin + DATUMS_AT_ONCE, len(self.values)))
            begins, ends = limits[:-1][part], limits[1:][part]
            yield part, Cursors.over(octets, begins, ends, self.record[part])


@dataclass(eq=False)
class SchemaValues:
    """Reader of the values of one file, whose first one decides its schema.

    Args:
        schema: of the file; None: not known yet.
    """

    schemas: Schemas
    topic: str
    schema: RecordSchema | None = None
    reasons: dict[int, str] = field(init=False, default_factory=dict)
    """Why records of the last slice cannot be in the file, by index."""

    def __post_init__(self) -> None:
        if self.schema is None:
            self.schema = self.schemas.of_topic(self.topic)

    def datums(self, records: RecordSlice) -> Iterator[Datums]:
        """Yields the datums of a slice by schema. Those that have none are in `reasons`."""
        self.reasons = {}
        has_value = records.value_begin >= 0
        own = self.schemas.of_topic(self.topic)
        if own is not None:
            yield from self._of(own, records, np.flatnonzero(has_value), 0)
            return
        ids = schema_ids(records)
        if (bad := has_value & (ids == NO_ID)).any():
            why = f"no Confluent header; plain datums need a schema {self.topic}.avsc"
            self._refuse(np.flatnonzero(bad), why)
        found, first = np.unique(ids[ids != NO_ID], return_index=True)
        # The first value of the file decides, whatever its id.
        for schema_id in found[np.argsort(first)].tolist():
            which = np.flatnonzero(ids == schema_id)
            schema = self.schemas.of_id(schema_id)
            if schema is None:
                self._refuse(which, self.schemas.why_unknown(schema_id))
            else:
                yield from self._of(schema, records, which, HEADER_BYTES)

    def _of(
        self, schema: RecordSchema, records: RecordSlice, which: Ints, header: int
    ) -> Iterator[Datums]:
        if self.schema is None:
            self.schema = schema
        how: Projection | None = SAME
        if schema != self.schema:
            flaw = schema.flaw or self.schema.flaw
            how = None if flaw else projection(schema.kind, self.schema.kind)
        if how is None:
            text = f"the schema {schema.name} does not become {self.schema.name}"
            self._refuse(which, text)
        elif len(which):
            begin, end = records.value_begin[which] + header, records.value_end[which]
            yield Datums(which, taken(records.data, begin, end), schema, how)

    def _refuse(self, which: Ints, why: str) -> None:
        self.reasons.update(dict.fromkeys(which.tolist(), why))

    def each(self, datums: Datums, read: Callable[[AvroType, Cursors], Read]) -> list[Read]:
        """Returns what is read of datums by the schema that they were written with; notes those
        that it does not describe."""
        found = []
        for _, cursors in datums.cursors():
            found.append(read(datums.written.kind, cursors))
            behind = cursors.end - cursors.at
            for at in np.flatnonzero(cursors.is_broken | (behind > 0)).tolist():
                why = f"{behind[at]} bytes behind the datum" if behind[at] else "ends too early"
                text = f"{why}, by the schema {datums.written.name}"
                self.reasons[int(cursors.record[at])] = text
        return found


def in_order(count: int, record: list[Ints], values: list[pa.Array], kind: pa.DataType) -> pa.Array:
    """Returns values in the order of their records; null for a record without one."""
    if not record:
        return pa.nulls(count, kind)
    index = np.concatenate(record)
    column = values[0] if len(values) == 1 else pa.concat_arrays(values)
    if len(index) == count and (np.diff(index) == 1).all():
        return column
    place = np.full(count, -1, np.int64)
    place[index] = np.arange(len(index))
    return column.take(pa.array(place, mask=place < 0))
