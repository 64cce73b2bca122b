"""Document columns: the fields of JSON documents as columns of a Parquet file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from aggregator.files.datum_columns import columns_of
from aggregator.files.schema_values import in_order
from aggregator.formats.avro_schema import UnsupportedSchema
from aggregator.formats.byte_columns import taken
from aggregator.formats.json_columns import JsonColumns
from aggregator.formats.json_flaws import json_flaws
from aggregator.formats.record_schema import Schemas
from aggregator.formats.record_slice import RecordSlice
from aggregator.tables.value_limits import limits_of

_NEWLINE, _SPACE = b"\n "


class DocumentColumns:
    """Decoder of the documents of one file, by the schema of their topic.

    A tombstone has null in each column.
    """

    def __init__(self, schemas: Schemas, topic: str) -> None:
        found = schemas.of_topic(topic)
        self.schema, self._name = (found.id, found.name) if found else ("", "")
        self._columns: JsonColumns | None = None
        self._flaw = f"no schema {topic}.avsc"
        if found is not None:
            try:
                self._columns = JsonColumns(found.kind)
            except UnsupportedSchema as error:
                self._flaw = f"{self._name}: {error}"

    @property
    def fields(self) -> pa.Schema:
        return columns_of(self._columns.type) if self._columns else pa.schema([])

    def __call__(self, records: RecordSlice) -> tuple[pa.Table, dict[int, str]]:
        has_value = records.value_begin >= 0
        if self._columns is None:
            return pa.table({}), dict.fromkeys(np.flatnonzero(has_value).tolist(), self._flaw)
        reasons = json_flaws(records)
        is_sound = has_value.copy()
        is_sound[list(reasons)] = False
        which = np.flatnonzero(is_sound)
        documents = _on_lines(
            taken(records.data, records.value_begin[which], records.value_end[which])
        )
        structs = self._columns.read(documents)
        for at, why in self._columns.reasons.items():
            reasons[int(which[at])] = f"{why}, by the schema {self._name}"
        column = in_order(len(records), [which], [structs], self._columns.type)
        return pa.Table.from_arrays(column.flatten(), schema=self.fields), reasons


def _on_lines(documents: pa.BinaryArray) -> pa.BinaryArray:
    """Returns documents without line breaks, which can stand between their parts only."""
    octets = np.frombuffer(documents.buffers()[2] or b"", np.uint8)
    if not (octets == _NEWLINE).any():
        return documents
    flat = np.where(octets == _NEWLINE, np.uint8(_SPACE), octets).tobytes()
    offsets = pa.py_buffer(limits_of(documents).astype(np.int32))
    return pa.BinaryArray.from_buffers(
        pa.binary(), len(documents), [None, offsets, pa.py_buffer(flat)]
    )
