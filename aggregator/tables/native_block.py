"""Native block: rows as columns of bytes, in ClickHouse's own format of blocks.

block    [block info] number of columns, number of rows, columns.
column   name, type, [0: no custom serialization], state prefix, data.
numbers  little endian; a Date, DateTime, Enum, Decimal or IPv4 is a number.
String   length as varint, bytes.
Nullable a byte for each row, 1 for NULL, and the data with any value instead of NULL.
Array    end of each row's elements, 8 bytes each, and the data of all elements.
Tuple    prefixes of all elements; data of all elements, one element after the other.
Map      an Array of Tuples of key and value, as is a Nested.
LowCardinality  prefix: version of its keys. Data: kind of index, number of keys, keys, number of
         rows, index of each row's key; with Nullable, key 0 is NULL.
UUID     two numbers of 8 bytes each; an IPv6 has the bytes in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.tables.column_default import (
    bare_zero,
    filled,
    is_left_to_server,
    is_record_time,
)
from aggregator.tables.column_type import ColumnType, UnsupportedType, column_type, is_loadable
from aggregator.tables.decoded import Decoded, Mask
from aggregator.tables.table_schema import INCARNATION, Column, TableSchema
from aggregator.tables.value_limits import limits_of
from replicator.batches import varints
from replicator.config.settings import BLOCK_ROWS_MAX

ROWS_MAX = BLOCK_ROWS_MAX
"""Rows of one insert."""

# Revisions of the protocol from which a part of the block is there.
BLOCK_INFO_REVISION = 51_903
CUSTOM_SERIALIZATION_REVISION = 54_454
# Field 1: no overflow; field 2: bucket -1; end.
_BLOCK_INFO = bytes((1, 0, 2, 255, 255, 255, 255, 0))

_KEYS_VERSION = (1).to_bytes(8, "little")
_HAS_ADDITIONAL_KEYS = 1 << 9
_NEEDS_UPDATE = 1 << 10
_INDEX_BITS = (8, 16, 32)
_NOTHING = pa.scalar(b"", pa.large_binary())

Octets = bytes | memoryview


class TooManyRows(Exception):
    """A block that one insert cannot hold. Load its records in several blocks."""


class MixedRows(ValueError):
    """Rows that one insert cannot hold, as it names a column for all of them or for none."""


@dataclass(frozen=True, slots=True, eq=False)
class NativeBlock:
    """Block that is ready to be sent.

    Args:
        types: of the columns, as the server named them.
        columns: encoded, each with its state prefix.
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    columns: tuple[Octets, ...]
    rows: int

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.columns))

    def bytes_of(self, *, revision: int) -> bytes:
        """Returns the block as a client of this revision of the protocol sends it.

        Revision 0 is the format Native of HTTP and of files.
        """
        return b"".join(self._parts(revision))

    def _parts(self, revision: int) -> Iterator[Octets]:
        if revision >= BLOCK_INFO_REVISION:
            yield _BLOCK_INFO
        yield varints.packed([len(self.columns), self.rows])
        for name, kind, data in zip(self.names, self.types, self.columns, strict=True):
            yield _text(name)
            yield _text(kind)
            if revision >= CUSTOM_SERIALIZATION_REVISION:
                yield b"\0"
            yield data


def native(
    decoded: Decoded,
    schema: TableSchema,
    *,
    cluster: str,
    topic: str,
    partition: int,
    incarnation: int = 0,
) -> NativeBlock:
    """Returns rows as a native block.

    Columns that no row holds are left out: the server fills them. Coordinates are filled in.

    Args:
        decoded: rows of one insert (see rows_of_inserts).

    Raises:
        TooManyRows: more than ROWS_MAX.
        UnsupportedType: no column of the table can be loaded.
    """
    identity: dict[str, str | int] = {
        "_cluster": cluster,
        "_topic": topic,
        "_partition": partition,
        INCARNATION: incarnation,
    }
    return _native(_Parts(decoded, schema, identity))


def native_of_rows(
    decoded: Decoded, schema: TableSchema, own: Mapping[str, pa.Array]
) -> NativeBlock:
    """Returns rows of several partitions as a native block.

    Args:
        own: columns by name that no record fills, but for offset and row of the coordinates.

    Raises: as native() does.
    """
    return _native(_Parts(decoded, schema, {INCARNATION: 0}, own))


def _native(parts: _Parts) -> NativeBlock:
    decoded, schema = parts.decoded, parts.schema
    if len(decoded) > ROWS_MAX:
        raise TooManyRows(
            f"a block of {schema.table} has {len(decoded)} rows; one insert holds {ROWS_MAX}. "
            "Load its records in several blocks"
        )
    columns = [
        (column, data) for column in schema.inserted if (data := parts.of(column)) is not None
    ]
    if not columns and len(decoded):
        columns = [parts.any_column()]
    return NativeBlock(
        tuple(column.name for column, _ in columns),
        tuple(column.type for column, _ in columns),
        tuple(data for _, data in columns),
        len(decoded),
    )


def rows_of_inserts(decoded: Decoded, schema: TableSchema) -> list[Mask]:
    """Returns the rows of each insert: those that leave the same columns to the server.

    How many inserts a block takes depends on its rows; what becomes of a row does not.
    """
    group = np.zeros(len(decoded), np.int64)
    for column in schema.inserted:
        if column.name in decoded.columns and is_left_to_server(column, schema.timezone):
            is_missing = decoded.is_missing(column.name)
            _, group = np.unique(group * 2 + is_missing, return_inverse=True)
    return [group == number for number in range(int(group.max(initial=0)) + 1)]


@dataclass(frozen=True, slots=True)
class _Parts:
    """Encoder of a block's columns.

    Args:
        identity: what all rows have in their coordinates.
        own: columns by name that no record fills, where rows differ in them.
    """

    decoded: Decoded
    schema: TableSchema
    identity: Mapping[str, str | int]
    own: Mapping[str, pa.Array] = field(default_factory=dict)

    def of(self, column: Column) -> Octets | None:
        """Returns a column's bytes; None if the server fills it."""
        if column.name in self.own:
            kind = column_type(column.type)
            return _encoded(kind, self.own[column.name].cast(kind.arrow))
        is_own = column.name == INCARNATION and self.schema.has_incarnations
        if is_own or column.name in self.schema.coordinates:
            return self._coordinate(column)
        values = self.decoded.columns.get(column.name)
        if values is None:
            return self._default(column) if _is_filled_here(column) else None
        is_missing = self.decoded.is_missing(column.name)
        if is_missing.any() and is_left_to_server(column, self.schema.timezone):
            if not is_missing.all():
                raise MixedRows(f"some rows of {self.schema.table} have no {column.name}")
            return None
        return _encoded(column_type(column.type), self._filled(column, values, is_missing))

    def any_column(self) -> tuple[Column, Octets]:
        """Returns a column of defaults, for rows that hold nothing: a block has a column."""
        for column in self.schema.inserted:
            if is_loadable(column.type) and not is_left_to_server(column, self.schema.timezone):
                return column, self._default(column)
        raise UnsupportedType(f"{self.schema.table} has no column that can be loaded")

    def _default(self, column: Column) -> Octets:
        kind, rows = column_type(column.type), len(self.decoded)
        nothing = pa.nulls(rows, kind.arrow)
        return _encoded(kind, self._filled(column, nothing, np.ones(rows, np.bool_)))

    def _filled(self, column: Column, values: pa.Array, is_missing: Mask) -> pa.Array:
        times, timezone = self.decoded.timestamp_ms, self.schema.timezone
        return filled(column, values, times, timezone, is_missing)

    def _coordinate(self, column: Column) -> Octets:
        kind, rows = column_type(column.type), len(self.decoded)
        if column.name in ("_offset", "_row"):
            values = self.decoded.offset if column.name == "_offset" else self.decoded.row
            return _encoded(kind, pa.array(values).cast(kind.arrow))
        value = self.identity[column.name]
        if isinstance(value, int):
            return _encoded(kind, pa.array(np.full(rows, value, np.int64)).cast(kind.arrow))
        if kind.base == "String" and not kind.is_nullable and not kind.is_low_cardinality:
            return _text(value) * rows
        return _encoded(kind, pa.repeat(pa.scalar(value.encode(), kind.arrow), rows))


def _is_filled_here(column: Column) -> bool:
    return is_loadable(column.type) and is_record_time(column)


def _encoded(kind: ColumnType, values: pa.Array) -> Octets:
    parts = [*_prefix(kind), *_data(kind, values)]
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _prefix(kind: ColumnType) -> Iterator[Octets]:
    """Yields the state prefix, which comes before the data of all nested types."""
    if kind.is_low_cardinality:
        yield _KEYS_VERSION
    elif kind.element is not None:
        yield from _prefix(kind.element)
    for _, each in kind.fields:
        yield from _prefix(each)


def _data(kind: ColumnType, values: pa.Array) -> Iterator[Octets]:
    if kind.is_low_cardinality:
        yield from _low_cardinality(kind, values)
    elif kind.element is not None:
        length = np.asarray(pc.fill_null(pc.list_value_length(values), 0))
        yield np.cumsum(length, dtype=np.uint64).tobytes()
        yield from _data(kind.element, values.flatten())
    elif kind.fields:
        for (_, each), inside in zip(kind.fields, values.flatten(), strict=True):
            yield from _data(each, inside)
    else:
        if kind.is_nullable:
            yield np.asarray(values.is_null()).tobytes()
        yield _bare(kind, values)


def _low_cardinality(kind: ColumnType, values: pa.Array) -> Iterator[Octets]:
    if not len(values):
        return
    encoded = values.dictionary_encode()
    keys, index = encoded.dictionary, encoded.indices
    # Key 0 is NULL, or the value that empty rows would have.
    keys = pa.concat_arrays([pa.array([bare_zero(kind).as_py()], keys.type), keys])
    number = np.asarray(pc.fill_null(pc.add(index, 1), 0))
    width = next(at for at, bits in enumerate(_INDEX_BITS) if len(keys) < 1 << bits)
    flags = _HAS_ADDITIONAL_KEYS | _NEEDS_UPDATE | width
    yield np.array([flags, len(keys)], np.uint64).tobytes()
    yield _bare(kind, keys)
    yield np.array([len(values)], np.uint64).tobytes()
    yield number.astype(f"<u{_INDEX_BITS[width] // 8}").tobytes()


def _bare(kind: ColumnType, values: pa.Array) -> Octets:
    """Returns the values of a type without wrappers; zeros and empty texts stand for NULL.

    ClickHouse writes the same under a NULL, and compares it when it looks for equal blocks.
    """
    if values.null_count:
        values = pc.fill_null(values, 0 if kind.values else bare_zero(kind))
    if kind.base == "String":
        return _strings(values)
    width = values.type.byte_width
    data = memoryview(values.buffers()[1] or b"")
    data = data[values.offset * width : (values.offset + len(values)) * width]
    if kind.base == "UUID":
        return np.frombuffer(data, ">u8").astype("<u8").tobytes()
    if kind.base == "Decimal" and (size := _decimal_bytes(kind)) < width:
        return np.ascontiguousarray(
            np.frombuffer(data, np.uint8).reshape(-1, width)[:, :size]
        ).tobytes()
    return data


def _decimal_bytes(kind: ColumnType) -> int:
    sizes = ((9, 4), (18, 8), (38, 16), (76, 32))
    return next(size for digits, size in sizes if kind.precision <= digits)


def _strings(values: pa.Array) -> Octets:
    """Returns each string with its length in front of it."""
    count = len(values)
    if not count:
        return b""
    length = np.diff(limits_of(values)).view(np.uint64)
    size = varints.sizes(length)
    ends = np.cumsum(size)
    octets = np.empty(int(ends[-1]), np.uint8)
    varints.write(octets, ends - size, length, size)
    limits = pa.py_buffer(np.concatenate(([0], ends)))
    fronts = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), count, [None, limits, pa.py_buffer(octets)]
    )
    joined = pc.binary_join_element_wise(fronts, values, _NOTHING)
    return memoryview(joined.buffers()[2])[: int(limits_of(joined)[-1])]


def _text(text: str) -> bytes:
    data = text.encode()
    return varints.packed([len(data)]) + data
