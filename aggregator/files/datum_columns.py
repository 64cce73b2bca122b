"""Datum columns: the fields of datums as columns of a Parquet file."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

from aggregator.files.schema_values import Datums, SchemaValues, in_order
from aggregator.formats.avro_arrow import arrow_type, arrow_values
from aggregator.formats.avro_cursors import Cursors
from aggregator.formats.avro_projection import SAME
from aggregator.formats.avro_rewriting import rewritten
from aggregator.formats.avro_schema import AvroType, UnsupportedSchema
from aggregator.formats.record_schema import RecordSchema, Schemas
from aggregator.formats.record_slice import RecordSlice

VALUE = "value"
"""Column of a value that is no record."""


class DatumColumns:
    """Decoder of the datums of one file, in the schema of its first one.

    A tombstone has null in each column.
    """

    def __init__(self, schemas: Schemas, topic: str) -> None:
        self._values = SchemaValues(schemas, topic)

    @property
    def schema(self) -> str:
        return self._values.schema.id if self._values.schema else ""

    @property
    def fields(self) -> pa.Schema:
        schema = self._values.schema
        if schema is None or self._flaw:
            return pa.schema([])
        found = arrow_type(schema.kind)
        return columns_of(found if schema.kind.base == "record" else pa.struct([(VALUE, found)]))

    def __call__(self, records: RecordSlice) -> tuple[pa.Table, dict[int, str]]:
        parts = list(self._values.datums(records))
        reasons = self._values.reasons
        if self._flaw:
            for each in parts:
                text = f"the schema {each.written.name}: {self._flaw}"
                reasons.update(dict.fromkeys(each.record.tolist(), text))
            parts = []
        fields = self.fields
        kind = pa.struct(list(fields))
        structs = [self._structs(each, kind) for each in parts]
        column = in_order(len(records), [each.record for each in parts], structs, kind)
        return pa.Table.from_arrays(column.flatten(), schema=fields), reasons

    @property
    def _flaw(self) -> str | None:
        """Why the file's schema has no columns; None if it has, or is not known yet."""
        schema = self._values.schema
        return _flaw(schema) if schema else None

    def _structs(self, datums: Datums, kind: pa.DataType) -> pa.Array:
        found = self._values.each(datums, lambda written, at: self._read(datums, written, at))
        whole = pa.concat_arrays(found)
        arrays = whole.flatten() if self._file_kind.base == "record" else [whole]
        return pa.StructArray.from_arrays(arrays, fields=list(kind))

    @property
    def _file_kind(self) -> AvroType:
        assert self._values.schema is not None, "the first datum decides it"
        return self._values.schema.kind

    def _read(self, datums: Datums, written: AvroType, cursors: Cursors) -> pa.Array:
        if datums.how == SAME:
            return arrow_values(self._file_kind, cursors)
        values = rewritten(datums.how, written, cursors)
        again = Datums(np.arange(len(values)), values, datums.written, SAME)
        found = []
        for part, each in again.cursors():
            # What was broken before is empty or cut.
            each.break_where(cursors.is_broken[part])
            found.append(arrow_values(self._file_kind, each))
            was_broken = cursors.is_broken.copy()
            was_broken[part] |= each.is_broken
            cursors.break_where(was_broken)
        return pa.concat_arrays(found)


def columns_of(struct: pa.DataType) -> pa.Schema:
    """Returns the fields of a struct as columns, which tombstones leave null."""
    return pa.schema([each.with_nullable(True) for each in struct])


@lru_cache(maxsize=256)
def _flaw(schema: RecordSchema) -> str | None:
    if schema.flaw is None:
        try:
            arrow_type(schema.kind)
        except UnsupportedSchema as error:
            return str(error)
    return schema.flaw
