"""Plain records: the values of records by a second reader, which shares no code with the loaders'.

JSON is read by Python's own parser, with decimals for numbers; Avro by fastavro; Protobuf messages
and row batches by Google's library. One record is read at a time.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

import fastavro
from fastavro.read import LOGICAL_READERS
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from aggregator.formats.proto_messages import ProtoMessages, index_of, pool_of
from aggregator.formats.row_batch_type import (
    PACKAGE,
    WrittenColumn,
    element_names,
    row_batch_file,
    row_fields,
    written_columns,
)
from aggregator.tables.column_type import ColumnType
from aggregator.tables.table_schema import TableSchema
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.schema_folder import SchemaFolder

Row = Mapping[str, Any]
"""Values by column; a column that the record does not hold is not there."""
Reader = Callable[[bytes, TableSchema], list[Row]]
"""Returns the rows of a value. Raises any error for one that it cannot read."""
_HEADER_BYTES = 5
_WRAPPERS = "google.protobuf."
_EXACT = Context(prec=200)


class Unsure:
    """A value that this reader does not compare."""


UNSURE = Unsure()


@dataclass(frozen=True, slots=True)
class Whole:
    """Record, map or array of records, which only a column of Tuples or a Map takes."""

    value: Any


@dataclass(frozen=True, slots=True)
class Moment:
    """Time since 1970 in nanoseconds."""

    nanos: int


def _or(read: Callable[..., Any], beyond: Callable[[int], Any]) -> Callable[..., Any]:
    """Returns a reader of a logical type that also reads what Python has no time for.

    Args:
        beyond: returns what stands for a number before the year 1, or behind 9999.
    """

    def found(number: int, *schemas: Any) -> Any:
        try:
            return read(number, *schemas)
        except (OverflowError, ValueError):
            return beyond(number)

    return found


class Elements(dict[str, Any]):
    """Elements of a Tuple in a row batch; those of one without names are called 1, 2 ..."""


# fastavro has no moments of nanoseconds, and leaves them numbers.
LOGICAL_READERS["long-timestamp-nanos"] = lambda nanos, *_: Moment(nanos)
LOGICAL_READERS["long-local-timestamp-nanos"] = lambda *_: UNSURE
_BEYOND: Mapping[str, Callable[[int], Any]] = {
    "long-timestamp-millis": lambda millis: Moment(millis * 10**6),
    "long-timestamp-micros": lambda micros: Moment(micros * 10**3),
    "long-local-timestamp-millis": lambda _: UNSURE,
    "long-local-timestamp-micros": lambda _: UNSURE,
    "long-time-micros": lambda _: UNSURE,
    "int-time-millis": lambda _: UNSURE,
    "int-date": lambda _: UNSURE,
}
for _name, _beyond in _BEYOND.items():
    LOGICAL_READERS[_name] = _or(LOGICAL_READERS[_name], _beyond)


def _decimal(octets: Any, schema: Any, *_: Any) -> Decimal:
    """Returns a decimal with all its digits; fastavro rounds one of more than its precision."""
    number = Decimal(int.from_bytes(octets, "big", signed=True))
    return _EXACT.scaleb(number, -int(schema.get("scale", 0)))


LOGICAL_READERS |= {"bytes-decimal": _decimal, "fixed-decimal": _decimal}


def reader_of(feed: ClickHouseFeed) -> Reader:
    """Returns the second reader of the feed's format."""
    match feed.format:
        case "json":
            return json_rows
        case "row_batches":
            return batch_rows
        case "avro":
            assert feed.schemas is not None, "the configuration demands them"
            return AvroRows(feed.schemas)
        case "protobuf":
            assert feed.schemas is not None, "the configuration demands them"
            return ProtobufRows(feed.schemas)


def json_rows(value: bytes, schema: TableSchema) -> list[Row]:
    """Returns the rows of a document; of repeated fields the first counts."""
    found = json.loads(
        value,
        object_pairs_hook=_first_of_each,
        parse_float=Decimal,
        parse_int=lambda text: int(text) if len(text) < 100 else Decimal(text),
    )
    return found if isinstance(found, list) else [found]


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


class AvroRows:
    """Reader of datums by the schemas of a folder."""

    def __init__(self, folder: SchemaFolder) -> None:
        self._texts = folder.files
        self._schemas: dict[str, Any] = {}

    def __call__(self, value: bytes, schema: TableSchema) -> list[Row]:
        """Returns the rows of a datum."""
        name = f"{schema.table}.avsc"
        if name not in self._texts or schema.table.isdigit():
            name = f"{int.from_bytes(value[1:_HEADER_BYTES], 'big')}.avsc"
            value = value[_HEADER_BYTES:]
        if name not in self._schemas:
            self._schemas[name] = fastavro.parse_schema(json.loads(self._texts[name]))
        found: Any = fastavro.schemaless_reader(io.BytesIO(value), self._schemas[name], None)
        rows = found if isinstance(found, list) else [found]
        return [dict(_flat(row, "")) for row in rows]


def _flat(value: Any, path: str) -> list[tuple[str, Any]]:
    """Returns the values of a record by path: those of records within it, and of arrays of them."""
    if isinstance(value, dict):
        found: list[tuple[str, Any]] = []
        for name, each in value.items():
            found += _flat(each, f"{path}.{name}" if path else name)
        # A map is no record, and fastavro tells neither.
        return [*found, (path, Whole(value))] if path else found
    if isinstance(value, list) and _has_objects(value):
        return [(path, Whole(value))]
    return [(path, value)]


def _has_objects(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_has_objects, value))
    return isinstance(value, dict)


class ProtobufRows:
    """Reader of messages by those of a folder."""

    def __init__(self, folder: SchemaFolder) -> None:
        self._messages = ProtoMessages(folder)

    def __call__(self, value: bytes, schema: TableSchema) -> list[Row]:
        """Returns the row of a message."""
        message = self._messages.of_table(schema.table)
        if value[:1] == b"\0":
            value = _without_header(value, index_of(message))
        read = GetMessageClass(message).FromString(value)
        if not read.IsInitialized():
            raise ValueError("a required field is not set")
        return [_fields(read)]


def _fields(message: Any) -> dict[str, Any]:
    """Returns the fields of a message that are set, or have a default that the message gives."""
    passed: Any = UnknownFieldSet(message)
    unknown = {each.field_number for each in passed}
    return {
        # A number that a closed enum does not have is passed by some libraries.
        field.name: UNSURE
        if field.number in unknown
        else _field(field, getattr(message, field.name))
        for field in message.DESCRIPTOR.fields
        if not field.has_presence
        or message.HasField(field.name)
        or field.number in unknown
        # Its value is that default.
        or (field.has_default_value and not field.containing_oneof)
    }


def _without_header(value: bytes, index: int) -> bytes:
    stream = io.BytesIO(value[_HEADER_BYTES:])
    count = _zigzag(stream)
    indexes = [_zigzag(stream) for _ in range(count)] or [0]
    if indexes != [index]:
        raise ValueError("the header names another message")
    return stream.read()


def _zigzag(stream: io.BytesIO) -> int:
    value = shift = 0
    while True:
        [octet] = stream.read(1)
        value |= (octet & 127) << shift
        shift += 7
        if octet < 128:
            return value >> 1 ^ -(value & 1)


def _field(field: FieldDescriptor, value: Any) -> Any:
    if not field.is_repeated:
        return _single(field, value)
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        of_values = inner.fields_by_name["value"]
        return Whole({key: _single(of_values, each) for key, each in value.items()})
    return [_single(field, each) for each in value]


def _single(field: FieldDescriptor, value: Any) -> Any:
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return Symbol(value, known.name if known else str(value))
    if field.message_type is None:
        return value
    name = field.message_type.full_name
    if name == "google.protobuf.Timestamp":
        return Moment(value.seconds * 10**9 + value.nanos)
    if name.startswith(_WRAPPERS):
        return value.value if name.endswith("Value") and name.count(".") == 2 else UNSURE
    return Whole(_fields(value))


@dataclass(frozen=True, slots=True)
class Symbol:
    """Value of an enum."""

    number: int
    name: str


def batch_rows(value: bytes, schema: TableSchema) -> list[Row]:
    """Returns the rows of a batch."""
    head: Any = _batch(()).FromString(value)
    named = tuple(WrittenColumn(each.name, each.type) for each in head.columns.column)
    columns = named or written_columns(schema)
    batch: Any = _batch(columns).FromString(value)
    fields = [(each, columns[each.column].name) for each in row_fields(columns)]
    return [
        {
            name: _written(field.kind, getattr(row, field.name))
            for field, name in fields
            if field.kind.element is not None or row.HasField(field.name)
        }
        for row in batch.rows
    ]


@lru_cache(maxsize=64)
def _batch(columns: tuple[WrittenColumn, ...]) -> Any:
    pool = pool_of([row_batch_file(columns)])
    return GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.RowBatch"))


def _written(kind: ColumnType, value: Any) -> Any:
    """Returns a field as what the type of its column means."""
    if kind.fields:
        return Whole(
            Elements(
                {
                    name: _written(each, getattr(value, field))
                    for field, (name, each) in zip(element_names(kind), kind.fields, strict=True)
                    if each.element is not None or value.HasField(field)
                }
            )
        )
    if kind.element is not None:
        return [_element(kind.element, each) for each in value]
    if kind.base in ("Date", "Date32"):
        # Python has no day beyond the year 9999.
        in_range = abs(value) < 10**6
        return date(1970, 1, 1) + timedelta(days=value) if in_range else UNSURE
    if kind.base in ("DateTime", "DateTime64"):
        digits = next(each for each in (0, 3, 6, 9) if each >= kind.scale)
        return Moment(value * 10 ** (9 - digits))
    if kind.values:
        return Symbol(value, {number: name for name, number in kind.values}.get(value, ""))
    return value


def _element(kind: ColumnType, value: Any) -> Any:
    if kind.element is not None:
        return _written(kind, value.value)
    if kind.is_nullable:
        return _written(kind, value.value) if value.HasField("value") else None
    return _written(kind, value)
