"""Row batch type: the Protobuf messages of a table's row batches, made from its columns.

    UInt8 to UInt64                 uint64
    Int8 to Int64                   sint64
    Float32, Float64                float, double
    Bool                            bool

    String, FixedString             bytes
    UUID                            bytes, the 16 in the order of its text
    Enum8, Enum16                   sint64, its number
    Decimal, Int128 to UInt256      string
    IPv4, IPv6                      string

    Date, Date32                    sint64, days since 1970
    DateTime                        sint64, seconds since 1970
    DateTime64                      sint64, seconds, milli-, micro- or nanoseconds since 1970,
                                    whichever first holds all of its digits

    Array(T)                        repeated T; of Nullable elements or of arrays: messages that
                                    hold an element each
    Tuple, Map                      a message of its elements; repeated messages of key and value

The number of a field is the column's place. A field that is not set is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from aggregator.tables.column_type import (
    ADDRESSES,
    NUMBERS,
    WIDE_INTEGERS,
    ColumnType,
    UnsupportedType,
    column_type,
)
from aggregator.tables.table_schema import OWN_COLUMNS, TableSchema

PACKAGE = "sluice"
_TYPES = {
    "Float32": FieldDescriptorProto.TYPE_FLOAT,
    "Float64": FieldDescriptorProto.TYPE_DOUBLE,
    "Bool": FieldDescriptorProto.TYPE_BOOL,
    "String": FieldDescriptorProto.TYPE_BYTES,
    "FixedString": FieldDescriptorProto.TYPE_BYTES,
    "UUID": FieldDescriptorProto.TYPE_BYTES,
    **dict.fromkeys(("Decimal", *WIDE_INTEGERS, *ADDRESSES), FieldDescriptorProto.TYPE_STRING),
}
_OPTIONAL = FieldDescriptorProto.LABEL_OPTIONAL
_REPEATED = FieldDescriptorProto.LABEL_REPEATED
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# Such names are those of columns whose own name is none of Protobuf's.
_NUMBERED = re.compile(r"c[0-9]+")
COLUMNS_MAX = 4000
"""Most columns of a batch: the library gives a message no more than 65 535 bytes."""


class WrittenColumn(NamedTuple):
    """Column as the writer of a batch read it: its name, and its type in ClickHouse."""

    name: str
    type: str


def written_columns(schema: TableSchema) -> tuple[WrittenColumn, ...]:
    """Returns the columns of a batch that names none: all but the coordinates, and but those that
    the server computes."""
    return tuple(
        WrittenColumn(column.name, column.type)
        for column in schema.inserted
        if column.name not in OWN_COLUMNS
    )


@dataclass(frozen=True, slots=True)
class RowField:
    """Field of a row.

    Args:
        column: its place in the row, from 0.
    """

    column: int
    name: str
    kind: ColumnType


def row_fields(columns: Sequence[WrittenColumn]) -> tuple[RowField, ...]:
    """Returns the fields of a row; columns of types that cannot be loaded have none."""
    fields = []
    names: set[str] = set()
    for place, column in enumerate(columns[:COLUMNS_MAX]):
        try:
            kind = column_type(column.type)
        except UnsupportedType:
            continue
        fields.append(RowField(place, _field_name(column.name, place, names), kind))
    return tuple(fields)


def _field_name(name: str, place: int, taken: set[str]) -> str:
    """Returns the name of a field, and adds it to those that are taken."""
    # Names that differ in case and underscores only would be the same in JSON.
    plain = name.replace("_", "").lower()
    is_taken = plain in taken or _NUMBERED.fullmatch(plain)
    taken.add(plain)
    return name if _IDENTIFIER.fullmatch(name) and not is_taken else f"c_{place + 1}"


def element_names(kind: ColumnType) -> list[str]:
    """Returns the names of a Tuple's elements as fields of its message."""
    taken: set[str] = set()
    return [_field_name(name, place, taken) for place, (name, _) in enumerate(kind.fields)]


def row_batch_file(columns: Sequence[WrittenColumn]) -> FileDescriptorProto:
    """Returns the file of a batch's messages: RowBatch, and those that it consists of."""
    file = FileDescriptorProto(name="row_batch.proto", package=PACKAGE)
    batch = file.message_type.add(name="RowBatch")
    _add(batch, "table", 1, FieldDescriptorProto.TYPE_STRING)
    _add(batch, "schema_hash", 2, FieldDescriptorProto.TYPE_STRING)
    _add_message(batch, "columns", 3, "Columns", _OPTIONAL)
    _add_message(batch, "rows", 4, "Row", _REPEATED)
    _add_message(file.message_type.add(name="Columns"), "column", 1, "Column", _REPEATED)
    column = file.message_type.add(name="Column")
    _add(column, "name", 1, FieldDescriptorProto.TYPE_STRING)
    _add(column, "type", 2, FieldDescriptorProto.TYPE_STRING)
    row = file.message_type.add(name="Row")
    for field in row_fields(columns):
        _add_value(file, row, field.name, field.column + 1, field.kind)
    return file


def is_wrapped(element: ColumnType) -> bool:
    """Returns True if each element of an Array is a message: a repeated field has no nulls, and
    its elements are not repeated."""
    return element.is_nullable or element.element is not None


def _add_value(
    file: FileDescriptorProto, message: DescriptorProto, name: str, number: int, kind: ColumnType
) -> None:
    element = kind.element
    if kind.fields:
        _add_message(message, name, number, _add_tuple(file, kind), _OPTIONAL)
    elif element is None:
        _add(message, name, number, _type_of(kind))
    elif element.fields:
        _add_message(message, name, number, _add_tuple(file, element), _REPEATED)
    elif is_wrapped(element):
        item = file.message_type.add(name=f"Item{len(file.message_type)}")
        _add_message(message, name, number, item.name, _REPEATED)
        _add_value(file, item, "value", 1, element)
    else:
        _add(message, name, number, _type_of(element), _REPEATED)


def _add_tuple(file: FileDescriptorProto, kind: ColumnType) -> str:
    """Returns the name of a new message for a Tuple."""
    item = file.message_type.add(name=f"Item{len(file.message_type)}")
    names = element_names(kind)
    for place, (_, each) in enumerate(kind.fields):
        _add_value(file, item, names[place], place + 1, each)
    return item.name


def _type_of(kind: ColumnType) -> FieldDescriptorProto.Type.ValueType:
    if kind.base in _TYPES:
        return _TYPES[kind.base]
    is_unsigned = kind.base in NUMBERS and kind.base.startswith("U")
    return FieldDescriptorProto.TYPE_UINT64 if is_unsigned else FieldDescriptorProto.TYPE_SINT64


def _add(
    message: DescriptorProto,
    name: str,
    number: int,
    kind: FieldDescriptorProto.Type.ValueType,
    label: FieldDescriptorProto.Label.ValueType = _OPTIONAL,
) -> None:
    message.field.add(name=name, number=number, type=kind, label=label)


def _add_message(
    message: DescriptorProto,
    name: str,
    number: int,
    type_name: str,
    label: FieldDescriptorProto.Label.ValueType,
) -> None:
    message.field.add(
        name=name,
        number=number,
        type=FieldDescriptorProto.TYPE_MESSAGE,
        type_name=f".{PACKAGE}.{type_name}",
        label=label,
    )


def proto_text(schema: TableSchema) -> str:
    """Returns the .proto file of a table's row batches, for programs that write them."""
    columns = written_columns(schema)
    return "\n".join(_lines(schema, columns, row_batch_file(columns))) + "\n"


def _lines(
    schema: TableSchema, columns: Sequence[WrittenColumn], file: FileDescriptorProto
) -> Iterator[str]:
    yield f"// Row batches of the table {schema.table} (docs/aggregate.md)."
    yield f"// Its columns of now have the schema_hash {schema.hash}."
    yield 'syntax = "proto3";'
    yield f"package {PACKAGE};"
    for message in file.message_type:
        yield ""
        yield f"message {message.name} {{"
        for field in message.field:
            note = _note(columns[field.number - 1]) if message.name == "Row" else ""
            yield f"  {_label(field)}{_type_name(field)} {field.name} = {field.number};{note}"
        yield "}"


def _note(column: WrittenColumn) -> str:
    return "  // " + f"{column.name} {column.type}".replace("\n", " ")


def _label(field: FieldDescriptorProto) -> str:
    if field.label == _REPEATED:
        return "repeated "
    return "" if field.type == FieldDescriptorProto.TYPE_MESSAGE else "optional "


def _type_name(field: FieldDescriptorProto) -> str:
    if field.type == FieldDescriptorProto.TYPE_MESSAGE:
        return field.type_name.rpartition(".")[2]
    name: str = FieldDescriptorProto.Type.Name(field.type)
    return name.removeprefix("TYPE_").lower()
