"""Protobuf records: a record holds one message, which is a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import Descriptor, EnumDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from aggregator.formats.column_values import column_values, reason
from aggregator.formats.confluent_header import without_headers
from aggregator.formats.decoded_rows import decoded_rows, loaded_types
from aggregator.formats.proto_messages import NoMessage, ProtoMessages, index_of
from aggregator.formats.proto_nested import tuple_columns
from aggregator.formats.proto_reader import ProtoReader, ReadMessages, Unit
from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.record_values import record_values
from aggregator.formats.time_texts import Flags
from aggregator.tables.column_type import NUMBERS, ColumnType
from aggregator.tables.decoded import Decoded
from aggregator.tables.table_schema import TableSchema
from replicator.config.schema_folder import SchemaFolder

_MICROSECOND_DIGITS = 6


class ProtobufRecords:
    """Decoder of records by the messages of a folder.

    A null value holds no row. A field that the table does not have is ignored. A field with
    presence that is not set has the default of its message, else it is missing; one without
    presence is zero. A repeated one is an Array, a message a Tuple, a map a Map. A message without
    a required field is dead.
    """

    def __init__(self, folder: SchemaFolder) -> None:
        self._messages = ProtoMessages(folder)
        self._readers: dict[tuple[str, Unit], ProtoReader] = {}

    def __call__(self, slices: Sequence[RecordSlice], schema: TableSchema) -> Decoded:
        """Returns the rows of a table's records."""
        values, record = record_values(slices)
        nothing = np.empty(0, np.int64)
        try:
            message = self._messages.of_table(schema.table)
        except NoMessage as error:
            dead = dict.fromkeys(record.tolist(), str(error))
            return decoded_rows(slices, schema, {}, nothing, nothing, dead)
        values, other = without_headers(values, index_of(message))
        dead = dict.fromkeys(record[other].tolist(), f"its header names no {message.full_name}")
        if other.any():
            values, record = values.filter(pa.array(~other)), record[~other]
        types = loaded_types(schema)
        read = self._reader(message, types).read(values)
        dead.update({int(record[at]): why for at, why in read.refused.items()})
        for at, why in _incomplete(message, values).items():
            dead.setdefault(int(record[at]), why)
        record = record[read.which]
        chosen, broken = _chosen(message, read, values)
        for at, why in broken.items():
            dead.setdefault(int(record[at]), why)
        nested = {name: kind for name, kind in types.items() if kind.has_tuples}
        columns, bad_nested = tuple_columns(message, values, read.which, nested, schema.timezone)
        for at, why in bad_nested.items():
            dead.setdefault(int(record[at]), why)
        for field in message.fields:
            if (kind := types.get(field.name)) is None or field.name in nested:
                continue
            given = read.columns.column(field.name)
            if field.name in chosen:
                given = pc.if_else(chosen[field.name], given, pa.scalar(None, given.type))
            elif field.has_default_value and not field.containing_oneof:
                given = pc.fill_null(given, pa.scalar(field.default_value, given.type))
            bad = _clamped(given)
            if field.enum_type:
                given = _named(kind, field.enum_type, given)
            columns[field.name], unfit = column_values(kind, given, schema.timezone)
            for at in np.flatnonzero(bad | unfit).tolist():
                dead.setdefault(int(record[at]), reason(field.name, kind, given, at))
        return decoded_rows(slices, schema, columns, record, np.zeros_like(record), dead)

    def _reader(self, message: Descriptor, types: Mapping[str, ColumnType]) -> ProtoReader:
        digits = max((_second_digits(kind) for kind in types.values()), default=0)
        unit: Unit = "ns" if digits > _MICROSECOND_DIGITS else "us"
        key = message.full_name, unit
        if key not in self._readers:
            self._readers[key] = ProtoReader(message, unit)
        return self._readers[key]


def _incomplete(message: Descriptor, values: pa.BinaryArray) -> dict[int, str]:
    """Returns why messages are not complete, by index: required fields, also of messages in them,
    that are not set. The reader passes these, and some that cannot be parsed as a whole."""
    if not _has_required(message, set()):
        return {}
    made, found = GetMessageClass(message)(), {}
    for at, value in enumerate(values.to_pylist()):
        try:
            made.ParseFromString(value)
        except DecodeError as error:
            found[at] = str(error)
            continue
        if missing := made.FindInitializationErrors():  # type: ignore[attr-defined]
            found[at] = f"{missing[0]} is required, and not set"
    return found


def _has_required(message: Descriptor, known: set[str]) -> bool:
    """Returns True if the message, or one in it, has required fields.

    Args:
        known: names of messages that were asked before; gets more.
    """
    if message.full_name in known:
        return False
    known.add(message.full_name)
    return any(
        field.is_required or (field.message_type and _has_required(field.message_type, known))
        for field in message.fields
    )


def _chosen(
    message: Descriptor, read: ReadMessages, values: pa.BinaryArray
) -> tuple[dict[str, pa.Array], dict[int, str]]:
    """Returns True for each message in which a field of a oneof is set, for oneofs of which some
    messages hold several fields: the last one counts, and the reader tells all of them. Returns
    also why this cannot be told of others, by place.

    Args:
        values: all messages.
    """
    found: dict[str, pa.Array] = {}
    broken: dict[int, str] = {}
    parse = GetMessageClass(message).FromString
    for oneof in message.oneofs:
        columns = [read.columns.column(field.name) for field in oneof.fields]
        is_set = np.array([np.asarray(column.is_valid()) for column in columns])
        several = np.flatnonzero(is_set.sum(axis=0) > 1)
        if not len(several):
            continue
        last = []
        for place in several.tolist():
            try:
                last.append(parse(values[read.which[place]].as_py()).WhichOneof(oneof.name))
            except DecodeError as error:
                broken[place] = str(error)
                last.append(None)
        for field, is_kept in zip(oneof.fields, is_set, strict=True):
            is_kept[several] = [name == field.name for name in last]
            found[field.name] = pa.array(is_kept)
    return found, broken


def _second_digits(kind: ColumnType) -> int:
    """Returns the digits of the seconds of a column; 0 for one without times."""
    while kind.element is not None:
        kind = kind.element
    return kind.scale if kind.base == "DateTime64" else 0


def _clamped(values: pa.Array) -> Flags:
    """Returns True for each time that the reader had no room for."""
    if pa.types.is_large_list(values.type):
        clamped = _clamped(values.flatten())
        found = np.zeros(len(values), np.bool_)
        if clamped.any():
            length = np.asarray(pc.list_value_length(values))
            found[np.repeat(np.arange(len(values)), length)[clamped]] = True
        return found
    if not pa.types.is_timestamp(values.type):
        return np.zeros(len(values), np.bool_)
    ticks = np.asarray(pc.fill_null(values.cast(pa.int64()), 0))
    limits = np.iinfo(np.int64)
    return np.isin(ticks, (limits.min, limits.max))


def _named(kind: ColumnType, enum: EnumDescriptor, values: pa.Array) -> pa.Array:
    """Returns the names of an enum's numbers, unless the column takes numbers.

    A number without a name becomes its text.
    """
    if pa.types.is_large_list(values.type):
        names = _named(kind.element or kind, enum, values.flatten())
        return pa.LargeListArray.from_arrays(values.offsets, names)
    if kind.base in NUMBERS:
        return values
    numbers = pa.array([value.number for value in enum.values], pa.int32())
    names = pa.array([value.name for value in enum.values], pa.large_string())
    known = names.take(pc.index_in(values, numbers))
    return pc.coalesce(known, values.cast(pa.large_string()))
