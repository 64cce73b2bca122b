"""Datum fields: texts of the fields of Avro datums, by the datum and its schema alone.

A text is that of a string, an enum, a number, a boolean, a day or a time. Null, everything else and
a missing field have none; nor has any field of a value that no known schema describes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aggregator.formats.avro_arrow import arrow_values
from aggregator.formats.avro_cursors import Cursors
from aggregator.formats.avro_items import skip
from aggregator.formats.avro_schema import AvroType, UnsupportedSchema
from aggregator.formats.record_schema import RecordSchema, Schemas
from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.schema_ids import HEADER_BYTES, NO_ID, schema_ids
from aggregator.formats.varint_words import PADDING
from aggregator.objects.folders import Ints
from aggregator.objects.json_fields import Path, Texts

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_TEXTUAL = ("boolean", "int", "long", "float", "double", "string", "enum")
Columns = dict[Path, pa.Array]
"""Texts by the path of their field."""


@dataclass(frozen=True)
class DatumFields:
    """Reader of the fields of a topic's datums.

    Args:
        unit: times are numbers of it; None: they are texts of ISO 8601.
    """

    schemas: Schemas
    topic: str
    unit: str | None = None

    def __call__(self, records: RecordSlice, paths: Sequence[Path]) -> list[Texts]:
        """Returns the texts of each of these fields in the values of records."""
        found: list[tuple[Ints, Columns]] = []
        octets = np.frombuffer(bytes(records.data) + PADDING, np.uint8)
        for schema, which, header in self._by_schema(records):
            begin, end = records.value_begin[which] + header, records.value_end[which]
            cursors = Cursors.over(octets, begin, end, which)
            try:
                columns = _texts(schema.kind, cursors, frozenset(paths), self.unit)
            except UnsupportedSchema:
                continue
            good = np.flatnonzero(~cursors.is_broken)
            at = pa.array(good)
            found.append((which[good], {path: each.take(at) for path, each in columns.items()}))
        return [_numbered(_spread(found, path, len(records))) for path in paths]

    def _by_schema(self, records: RecordSlice) -> Iterator[tuple[RecordSchema, Ints, int]]:
        """Yields schemas, the indexes of their records, and the bytes before each datum."""
        own = self.schemas.of_topic(self.topic)
        if own is not None:
            yield own, np.flatnonzero(records.value_begin >= 0), 0
            return
        ids = schema_ids(records)
        for schema_id in np.unique(ids[ids != NO_ID]).tolist():
            if (schema := self.schemas.of_id(schema_id)) is not None:
                yield schema, np.flatnonzero(ids == schema_id), HEADER_BYTES


def _texts(kind: AvroType, cursors: Cursors, paths: frozenset[Path], unit: str | None) -> Columns:
    """Returns the texts of the fields of a value of each datum, and moves the cursors behind it."""
    if kind.base == "union":
        return _of_union(kind, cursors, paths, unit)
    if kind.base == "record":
        found: Columns = {}
        for name, part in zip(kind.names, kind.parts, strict=True):
            inner = frozenset(path[1:] for path in paths if path[:1] == (name,))
            columns = _texts(part, cursors, inner, unit) if inner else {}
            if not inner:
                skip(part, cursors)
            found |= {(name, *path): texts for path, texts in columns.items()}
        return found
    if () in paths and (kind.logical or kind.base in _TEXTUAL):
        return {(): _text(arrow_values(kind, cursors), unit)}
    skip(kind, cursors)
    return {}


def _of_union(
    kind: AvroType, cursors: Cursors, paths: frozenset[Path], unit: str | None
) -> Columns:
    branch = cursors.number()
    cursors.break_where((branch < 0) | (branch >= len(kind.parts)))
    branch[cursors.is_broken] = -1
    found: list[tuple[Ints, Columns]] = []
    for number, part in enumerate(kind.parts):
        which = np.flatnonzero(branch == number)
        if len(which):
            chosen = cursors.some(which)
            found.append((which, _texts(part, chosen, paths, unit)))
            cursors.rejoin(which, chosen)
    names = {path for _, columns in found for path in columns}
    return {path: _spread(found, path, len(cursors)) for path in names}


def _text(values: pa.Array, unit: str | None) -> pa.Array:
    # A time without a zone is one of the feed's zone, which its text says.
    is_moment = pa.types.is_timestamp(values.type) and values.type.tz is not None
    if is_moment and unit is not None:
        ticks = np.asarray(values.cast(pa.int64()))
        own, wanted = PER_SECOND[values.type.unit], PER_SECOND[unit]
        values = pa.array(ticks // max(own // wanted, 1) * max(wanted // own, 1))
    return values.cast(pa.string())


def _spread(parts: Sequence[tuple[Ints, Columns]], path: Path, count: int) -> pa.Array:
    """Returns the texts of a field in the order of their datums; null where there is none."""
    index = np.full(count, -1, np.int64)
    found, behind = [pa.array([], pa.string())], 0
    for which, columns in parts:
        if path in columns:
            index[which] = np.arange(behind, behind + len(which))
            found.append(columns[path])
            behind += len(which)
    return pa.concat_arrays(found).take(pa.array(index, mask=index < 0))


def _numbered(texts: pa.Array) -> Texts:
    encoded = texts.dictionary_encode(null_encoding="encode")
    return Texts(encoded.dictionary.to_pylist(), np.asarray(encoded.indices).astype(np.int64))
