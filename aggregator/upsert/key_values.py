"""Key values: the columns of a primary key, read from the Kafka keys of records without a value.

A key of several columns is a JSON object of them, in feeds of the format json. A key of one column
may also be its plain text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats import json_documents
from aggregator.formats.column_values import column_values, reason
from aggregator.formats.decoded_rows import decoded_rows
from aggregator.formats.record_slice import RecordSlice, joined
from aggregator.formats.text_values import of_octets
from aggregator.tables.column_type import NUMBERS, column_type
from aggregator.tables.decoded import DeadRecord, Decoded, Mask
from aggregator.tables.table_schema import TableSchema
from aggregator.tables.value_limits import limits_of

_OBJECT = r"^\s*\{"
_NUMBER = r"^(?:-?(?:0|[1-9][0-9]*)|true|false)$"


def key_rows(
    slices: Sequence[RecordSlice], schema: TableSchema, key: Sequence[str], *, is_json: bool
) -> Decoded:
    """Returns a row for each record, with the columns that its Kafka key has.

    A record without a key is dead, and so is one whose key cannot be read.

    Args:
        schema: columns that may be in a key.
        key: columns of the primary key.
        is_json: keys may be JSON objects.
    """
    records = joined(slices)
    texts = records.key_column
    is_null = np.asarray(texts.is_null())
    is_object = np.zeros(len(records), np.bool_)
    if is_json:
        is_object = np.asarray(pc.fill_null(pc.match_substring_regex(texts, _OBJECT), False))
    is_plain = ~is_null & ~is_object
    found = _dead(records, is_null, "an empty value without a Kafka key deletes no row")
    if is_object.any():
        found = merged(found, json_documents.decode([_keys_as_values(records, is_object)], schema))
    if is_plain.any() and len(key) > 1:
        text = "the Kafka key of an empty value is no JSON object of the columns "
        found = merged(found, _dead(records, is_plain, text + ", ".join(key)))
    elif is_plain.any():
        found = merged(found, _plain(records.at(np.flatnonzero(is_plain)), schema, key[0]))
    return found


def merged(one: Decoded, other: Decoded) -> Decoded:
    """Returns the rows of both, and the dead records, by offset."""
    offset = np.concatenate([one.offset, other.offset])
    order = np.argsort(offset, kind="stable")
    types = {name: each.type for part in (one, other) for name, each in part.columns.items()}

    def column(name: str, kind: pa.DataType) -> pa.Array:
        parts = [part.columns.get(name, pa.nulls(len(part), kind)) for part in (one, other)]
        return pa.concat_arrays(parts).take(pa.array(order))

    def nulls(name: str) -> Mask:
        parts = [part.nulls.get(name, np.zeros(len(part), np.bool_)) for part in (one, other)]
        found: Mask = np.concatenate(parts)[order]
        return found

    return Decoded(
        MappingProxyType({name: column(name, kind) for name, kind in types.items()}),
        offset[order],
        np.concatenate([one.row, other.row])[order],
        np.concatenate([one.timestamp_ms, other.timestamp_ms])[order],
        tuple(sorted((*one.dead, *other.dead), key=lambda each: each.offset)),
        one.unknown_hashes | other.unknown_hashes,
        nulls=MappingProxyType({name: nulls(name) for name in (*one.nulls, *other.nulls)}),
    )


def _dead(records: RecordSlice, which: Mask, why: str) -> Decoded:
    return Decoded(dead=tuple(DeadRecord(at, why) for at in records.offset[which].tolist()))


def _keys_as_values(records: RecordSlice, which: Mask) -> RecordSlice:
    chosen = records.at(np.flatnonzero(which))
    return replace(chosen, value_begin=chosen.key_begin, value_end=chosen.key_end, columns={})


def _plain(records: RecordSlice, schema: TableSchema, name: str) -> Decoded:
    """Returns rows of keys that are the text of one column's value."""
    kind = column_type(next(each.type for each in schema.columns if each.name == name))
    texts, dead = records.key_column, {}
    if kind.base in NUMBERS:
        values, bad = _numbers(texts, schema, name)
    elif kind.base in ("String", "FixedString"):
        values, bad = of_octets(kind, texts.cast(pa.large_binary()))
    else:
        readable, bad = _utf8(texts)
        values, wrong = column_values(kind, readable, schema.timezone)
        bad = bad | wrong
    for at in np.flatnonzero(bad).tolist():
        dead[at] = f"the Kafka key of an empty value: {reason(name, kind, texts, at)}"
    index = np.arange(len(records))
    return decoded_rows(
        [records], schema, {name: values}, index, np.zeros(len(records), np.int64), dead
    )


def _numbers(texts: pa.BinaryArray, schema: TableSchema, name: str) -> tuple[pa.Array, Mask]:
    """Returns the numbers that texts write as JSON does, and True for each that is none."""
    is_number = np.asarray(pc.match_substring_regex(texts, _NUMBER))
    kind = column_type(next(each.type for each in schema.columns if each.name == name))
    front = pa.scalar(f"{{{json.dumps(name)}:".encode())
    numbers = texts.filter(pa.array(is_number))
    documents = pc.binary_join_element_wise(front, numbers, b"}\n", b"")
    found = json_documents.decode([_slice_of(documents)], schema)
    place = np.full(len(texts), -1, np.int64)
    place[np.flatnonzero(is_number)[found.offset]] = np.arange(len(found))
    values = found.columns.get(name, pa.nulls(len(found), kind.arrow))
    return values.take(pa.array(place, mask=place < 0)), place < 0


def _slice_of(lines: pa.BinaryArray) -> RecordSlice:
    """Returns records whose values are these lines without the newlines, from offset 0 on."""
    limits, none = limits_of(lines), np.full(len(lines), -1, np.int64)
    data = memoryview(lines.buffers()[2] or b"").cast("B")
    begin, end = limits[:-1], limits[1:]
    number = np.arange(len(lines))
    return RecordSlice(data, number, np.zeros_like(number), none, none, begin, end - 1, end, end)


def _utf8(texts: pa.BinaryArray) -> tuple[pa.Array, Mask]:
    """Returns texts, and True for each that is no UTF-8 and null therefore."""
    try:
        return texts.cast(pa.large_string()), np.zeros(len(texts), np.bool_)
    except pa.ArrowInvalid:
        found = [_text(each) for each in texts.to_pylist()]
    return pa.array(found, pa.large_string()), np.array([each is None for each in found])


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
