"""Avro as Arrow: datums of one schema as Arrow values, nested as the schema is.

All datums are read in step, as in avro_columns. A union of null and another type is that type,
nullable; any other union is a struct with a field for each of its types, member0 and so on, as
Spark reads it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats.avro_cursors import Cursors
from aggregator.formats.avro_items import items_of
from aggregator.formats.avro_schema import AvroType, UnsupportedSchema
from aggregator.formats.avro_values import scalars_of
from aggregator.formats.record_slice import Ints
from aggregator.tables.value_limits import limits_of

_SCALARS = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
}
_LOGICAL = {
    "date": pa.date32(),
    "timestamp-millis": pa.timestamp("ms", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "timestamp-nanos": pa.timestamp("ns", "UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
    "local-timestamp-nanos": pa.timestamp("ns"),
}
_PRECISION_MAX = 38


def arrow_field(name: str, kind: AvroType) -> pa.Field:
    """Returns the field of a type; raises UnsupportedSchema if Parquet has none."""
    return pa.field(name, arrow_type(kind), nullable=_is_nullable(kind))


def arrow_type(kind: AvroType) -> pa.DataType:
    """Returns the Arrow type of an Avro type; raises UnsupportedSchema if Parquet has none."""
    if kind.base == "union":
        if (single := _single(kind)) is not None:
            return arrow_type(single)
        return pa.struct([pa.field(*each) for each in _members(kind)])
    if kind.base == "array":
        return pa.list_(arrow_field("element", kind.parts[0]))
    if kind.base == "map":
        value = kind.parts[0].parts[1]
        return pa.map_(pa.string(), arrow_field("value", value))
    if kind.base == "record":
        if not kind.parts:
            raise UnsupportedSchema(f"the record {kind.name} has no fields")
        pairs = zip(kind.names, kind.parts, strict=True)
        return pa.struct([arrow_field(name, part) for name, part in pairs])
    if kind.logical == "decimal":
        precision = kind.precision
        if not 1 <= precision <= _PRECISION_MAX or kind.scale > precision:
            raise UnsupportedSchema(f"a decimal of precision {precision}, scale {kind.scale}")
        return pa.decimal128(precision, kind.scale)
    if kind.base == "fixed":
        return pa.binary(kind.size)
    return _LOGICAL.get(kind.logical) or _SCALARS[kind.base]


def arrow_values(kind: AvroType, cursors: Cursors) -> pa.Array:
    """Returns a value of each datum, and moves the cursors behind it.

    Values of broken datums mean nothing.
    """
    if kind.base == "union":
        return _union(kind, cursors)
    if kind.base in ("array", "map"):
        return _items(kind, cursors)
    if kind.base == "record":
        arrays = [arrow_values(part, cursors) for part in kind.parts]
        return pa.StructArray.from_arrays(arrays, fields=list(arrow_type(kind)))
    values = scalars_of(kind, cursors, is_large=False)
    assert values is not None
    wanted = arrow_type(kind)
    if values.type == wanted:
        return values
    if kind.logical == "decimal":
        return _decimals(values, wanted, cursors)
    if kind.base == "enum":
        values = values.dictionary_decode()
    if kind.base == "fixed":
        # Those of broken datums are shorter.
        is_whole = pa.array(np.diff(limits_of(values)) == kind.size)
        values = pc.if_else(is_whole, values, pa.scalar(bytes(kind.size), values.type))
    return values.cast(wanted)


def _union(kind: AvroType, cursors: Cursors) -> pa.Array:
    branch = cursors.number()
    cursors.break_where((branch < 0) | (branch >= len(kind.parts)))
    branch[cursors.is_broken] = -1
    found: list[tuple[int, Ints, pa.Array]] = []
    for number, part in enumerate(kind.parts):
        which = np.flatnonzero(branch == number)
        if len(which):
            chosen = cursors.some(which)
            found.append((number, which, arrow_values(part, chosen)))
            cursors.rejoin(which, chosen)
    single = _single(kind)
    if single is not None:
        parts = [each[1:] for each in found if kind.parts[each[0]] is single]
        return _spread(parts, len(cursors), arrow_type(single))
    by_number = {number: (which, values) for number, which, values in found}
    arrays, fields = [], []
    for number, part in enumerate(kind.parts):
        if part.base != "null":
            own = [by_number[number]] if number in by_number else []
            arrays.append(_spread(own, len(cursors), arrow_type(part)))
    fields = [pa.field(*each) for each in _members(kind)]
    is_null = np.array([part.base == "null" for part in kind.parts] + [True])[branch]
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=pa.array(is_null))


def _spread(parts: Sequence[tuple[Ints, pa.Array]], count: int, kind: pa.DataType) -> pa.Array:
    """Returns values at their indexes, and null elsewhere."""
    if not parts:
        return pa.nulls(count, kind)
    [(which, values)] = parts
    if len(which) == count:
        return values
    index = np.zeros(count, np.int64)
    index[which] = np.arange(len(which))
    is_null = np.ones(count, np.bool_)
    is_null[which] = False
    return values.take(pa.array(index, mask=is_null))


def _items(kind: AvroType, cursors: Cursors) -> pa.Array:
    items, owner = items_of(kind, cursors)
    [item] = kind.parts
    values = arrow_values(item, items)
    unread = items.is_broken | (items.at != items.end)
    if unread.any():
        wrong = np.zeros(len(cursors), np.bool_)
        wrong[owner[unread]] = True
        cursors.break_where(wrong)
    count = np.bincount(owner, minlength=len(cursors))
    offsets = pa.array(np.concatenate(([0], np.cumsum(count))), pa.int32())
    wanted = arrow_type(kind)
    if kind.base == "array":
        return pa.ListArray.from_arrays(offsets, values, type=wanted)
    keys, mapped = values.flatten()
    return pa.MapArray.from_arrays(offsets, keys, mapped, type=wanted)


def _decimals(values: pa.Array, wanted: pa.DataType, cursors: Cursors) -> pa.Array:
    """Returns decimals of the schema's precision; a datum with more digits is broken."""
    limit = pa.scalar(10 ** (wanted.precision - wanted.scale), pa.decimal256(76, values.type.scale))
    bad = np.asarray(pc.greater_equal(pc.abs(values), limit)) | cursors.is_broken
    if bad.any():
        cursors.break_where(bad)
        values = pc.if_else(pa.array(bad), pa.scalar(0).cast(values.type), values)
    return values.cast(wanted)


def _is_nullable(kind: AvroType) -> bool:
    parts = kind.parts if kind.base == "union" else (kind,)
    return any(part.base == "null" for part in parts)


def _single(kind: AvroType) -> AvroType | None:
    """Returns the only type of a union beside null."""
    others = [part for part in kind.parts if part.base != "null"]
    if not others:
        return kind.parts[0]
    return others[0] if len(others) == 1 else None


def _members(kind: AvroType) -> list[tuple[str, pa.DataType]]:
    others = [part for part in kind.parts if part.base != "null"]
    return [(f"member{at}", arrow_type(part)) for at, part in enumerate(others)]
