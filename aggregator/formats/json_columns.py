"""JSON columns: the fields of JSON documents in the types of an Avro schema.

A field that is null, or that a document does not have, takes the schema's default; without one the
document is refused, unless the schema allows null. Fields that the schema does not have are passed.
Times and days are texts of ISO 8601, or numbers as Avro has them.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from aggregator.formats.avro_arrow import arrow_type
from aggregator.formats.avro_schema import AvroType, UnsupportedSchema
from aggregator.formats.record_slice import Ints
from aggregator.formats.time_texts import Flags

_SCALARS = frozenset(["boolean", "int", "long", "float", "double", "string", "enum", "bytes"])
_REASON_CHARACTERS_MAX = 200


class JsonColumns:
    """Reader of documents by one schema. Raises UnsupportedSchema when it is made."""

    def __init__(self, kind: AvroType) -> None:
        if kind.base != "record":
            raise UnsupportedSchema("no record, which is what a JSON object becomes")
        _check(kind)
        self._kind = kind
        self.type = arrow_type(kind)
        forms = (_form(self.type, is_text=True), _form(self.type, is_text=False))
        self._forms = forms if forms[0] != forms[1] else forms[:1]
        self.reasons: dict[int, str] = {}
        """Why documents of the last call are refused, by index."""

    def read(self, documents: pa.BinaryArray) -> pa.StructArray:
        """Returns a struct for each document; what it holds of a refused one means nothing.

        Args:
            documents: sound JSON, each on one line.
        """
        self.reasons = {}
        parts = list(self._parts(documents, 0))
        found = pa.concat_arrays(parts) if parts else pa.array([], _nullable(self.type))
        return self._completed(self._kind, found, np.arange(len(found)), "")

    def _parts(self, documents: pa.BinaryArray, first: int) -> Iterator[pa.StructArray]:
        """Yields the structs of documents; those that cannot be read are found by halving."""
        if not len(documents):
            return
        refusals = []
        for form in self._forms:
            try:
                yield self._read(documents, form)
                return
            except pa.ArrowInvalid as error:
                refusals.append(str(error))
        if len(documents) == 1:
            text = " ".join(refusals[0].removeprefix("JSON parse error: ").split())
            self.reasons[first] = text.removesuffix(" in row 0")[:_REASON_CHARACTERS_MAX]
            yield pa.nulls(1, _nullable(self.type))
            return
        middle = len(documents) // 2
        yield from self._parts(documents.slice(0, middle), first)
        yield from self._parts(documents.slice(middle), first + middle)

    def _read(self, documents: pa.BinaryArray, form: pa.DataType) -> pa.StructArray:
        lines = pc.binary_join(
            pa.ListArray.from_arrays(pa.array([0, len(documents)], pa.int32()), documents), b"\n"
        )[0].as_py()
        table = pj.read_json(
            io.BytesIO(lines),
            # In one block: the reader refuses a document that is in two.
            read_options=pj.ReadOptions(use_threads=False, block_size=len(lines) + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=pa.schema(list(form)), unexpected_field_behavior="ignore"
            ),
        )
        if len(table) != len(documents):
            raise pa.ArrowInvalid("not one JSON object")
        arrays = [
            table[field.name].combine_chunks().cast(field.type) for field in _nullable(self.type)
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(_nullable(self.type)))

    def _completed(self, kind: AvroType, values: pa.Array, rows: Ints, path: str) -> pa.Array:
        """Returns values with their defaults; notes the documents that lack others.

        Args:
            rows: index of the document of each.
        """
        if kind.base == "union":
            [single] = [part for part in kind.parts if part.base != "null"] or kind.parts
            return self._completed(single, values, rows, path)
        if kind.base == "record":
            return self._record(kind, values, rows, path)
        if kind.base == "array":
            return self._array(kind, values, rows, path)
        if kind.base in ("float", "double"):
            self._refuse(pc.is_inf(values), rows, f"{path} is too large")
        if kind.base == "enum":
            known = pc.is_in(values, pa.array(kind.symbols, pa.string()))
            self._refuse(pc.invert(known), rows[:], f"{path} is no symbol", values)
        return values

    def _record(self, kind: AvroType, values: pa.Array, rows: Ints, path: str) -> pa.Array:
        arrays = []
        is_there = np.asarray(values.is_valid())
        for name, part, column in zip(kind.names, kind.parts, values.flatten(), strict=True):
            inner = f"{path}.{name}" if path else name
            if column.null_count:
                column = self._with_default(kind, name, column)
                if not _allows_null(part):
                    is_missing = np.asarray(column.is_null()) & is_there
                    self._refuse(pa.array(is_missing), rows, f"{inner} is missing")
            arrays.append(self._completed(part, column, rows, inner))
        mask = pa.array(~is_there) if not is_there.all() else None
        return pa.StructArray.from_arrays(arrays, fields=list(arrow_type(kind)), mask=mask)

    @staticmethod
    def _with_default(kind: AvroType, name: str, column: pa.Array) -> pa.Array:
        default = kind.defaults.get(name)
        if default is None:
            return column
        return pc.fill_null(column, pa.scalar(default, column.type))

    def _array(self, kind: AvroType, values: pa.Array, rows: Ints, path: str) -> pa.Array:
        [item] = kind.parts
        count = np.asarray(pc.fill_null(pc.list_value_length(values), 0)).astype(np.int64)
        items = values.flatten()
        owner = np.repeat(rows, count)
        if items.null_count and not _allows_null(item):
            self._refuse(items.is_null(), owner, f"{path} has null as an item")
        offsets = pa.array(np.concatenate(([0], np.cumsum(count))), pa.int32())
        mask = values.is_null() if values.null_count else None
        found = self._completed(item, items, owner, path)
        return pa.ListArray.from_arrays(offsets, found, type=arrow_type(kind), mask=mask)

    def _refuse(self, bad: pa.Array, rows: Ints, why: str, values: pa.Array | None = None) -> None:
        """Notes why documents are refused.

        Args:
            values: those that are null are not refused.
        """
        wrong: Flags = np.asarray(pc.fill_null(bad, False))
        if values is not None:
            wrong = wrong & np.asarray(values.is_valid())
        for row in rows[wrong].tolist():
            self.reasons.setdefault(row, why)


def _check(kind: AvroType) -> None:
    """Raises UnsupportedSchema for a type that JSON documents do not have."""
    if kind.base == "union":
        others = [part for part in kind.parts if part.base != "null"]
        if len(others) > 1:
            raise UnsupportedSchema("a union of several types, which JSON does not tell apart")
    elif kind.base not in _SCALARS and kind.base not in ("record", "array", "null"):
        raise UnsupportedSchema(f"{kind.base}, which JSON documents do not have")
    for part in kind.parts:
        _check(part)


def _allows_null(kind: AvroType) -> bool:
    return any(part.base == "null" for part in kind.parts) or kind.base == "null"


def _nullable(kind: pa.DataType) -> Any:
    """Returns a type in which everything may be null."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, _nullable(each.type)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", _nullable(kind.value_type)))
    return kind


def _form(kind: pa.DataType, *, is_text: bool) -> Any:
    """Returns a type as documents have it.

    Args:
        is_text: of times and days.
    """
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, _form(each.type, is_text=is_text)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", _form(kind.value_type, is_text=is_text)))
    if pa.types.is_date(kind):
        return pa.string() if is_text else kind
    if pa.types.is_timestamp(kind):
        return kind if is_text else pa.int64()
    return kind
