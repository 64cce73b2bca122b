"""Protobuf's nested values: columns of Tuples and Maps, from messages that Google's library reads.

A message is an object of its fields that are set, a map an object, a repeated field a list. A field
without presence is set, and one to which the message gives a default. A wrapper is its value, and a
Timestamp a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from aggregator.formats.column_values import column_values, reason
from aggregator.formats.nested_values import MISSING, NestedValues, placed
from aggregator.formats.record_slice import Ints
from aggregator.tables.column_type import NUMBERS, ColumnType

_TIMESTAMP = "google.protobuf.Timestamp"
_WRAPPERS = frozenset(
    f"google.protobuf.{each}Value"
    for each in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)


@dataclass(frozen=True, slots=True)
class _Moment:
    """Nanoseconds since 1970."""

    nanos: int


@dataclass(frozen=True, slots=True)
class _Symbol:
    """Value of an enum; one without a name is named by its number."""

    number: int
    name: str


@dataclass(frozen=True, slots=True, repr=False)
class _Unknown:
    """Bytes that the library does not take for the field of this number: an enum's number without a
    name in proto2, for example, which it parts from the others."""

    field: int

    def __repr__(self) -> str:
        return f"an unknown value of field {self.field}"


def tuple_columns(
    message: Descriptor,
    values: pa.BinaryArray,
    which: Ints,
    types: Mapping[str, ColumnType],
    timezone: str,
) -> tuple[dict[str, pa.Array], dict[int, str]]:
    """Returns columns, null where a field is not set, and why messages are refused, by place.

    Args:
        message: type of the messages.
        values: serialized messages.
        which: index of each message to read, in the order of the places.
        types: of the columns, by name.
        timezone: of the server.
    """
    fields = [field for field in message.fields if field.name in types]
    if not fields:
        return {}, {}
    parse = GetMessageClass(message).FromString
    found: list[dict[str, Any]] = []
    broken: dict[int, str] = {}
    for place, at in enumerate(which.tolist()):
        try:
            found.append(_set_fields(parse(values[at].as_py()), fields))
        except DecodeError as error:
            # The columns' reader passes what it needs not, such as messages deep within themselves.
            broken[place] = str(error)
            found.append({})
    reader = NestedValues(partial(_scalars, timezone))
    rows = np.arange(len(found))
    columns = {}
    for field in fields:
        given = [each.get(field.name, MISSING) for each in found]
        columns[field.name] = reader.read(field.name, types[field.name], given, rows)
    return columns, {**reader.reasons, **broken}


def _set_fields(message: Any, fields: Sequence[FieldDescriptor]) -> dict[str, Any]:
    found = {
        field.name: _value(field, getattr(message, field.name))
        for field in fields
        if not field.has_presence
        or message.HasField(field.name)
        # Its value is the default that the message gives.
        or (field.has_default_value and not field.containing_oneof)
    }
    passed: Any = UnknownFieldSet(message)
    if len(passed):
        unknown = {each.field_number for each in passed}
        found.update(
            {each.name: _Unknown(each.number) for each in fields if each.number in unknown}
        )
    return found


def _value(field: FieldDescriptor, value: Any) -> Any:
    if not field.is_repeated:
        return _single(field, value)
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        of_values = inner.fields_by_name["value"]
        return {key: _single(of_values, each) for key, each in value.items()}
    return [_single(field, each) for each in value]


def _single(field: FieldDescriptor, value: Any) -> Any:
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return _Symbol(value, known.name if known else str(value))
    if field.message_type is None:
        return value
    if field.message_type.full_name == _TIMESTAMP:
        return _Moment(value.seconds * 10**9 + value.nanos)
    if field.message_type.full_name in _WRAPPERS:
        return value.value
    return _set_fields(value, field.message_type.fields)


def _scalars(
    timezone: str, path: str, kind: ColumnType, given: Sequence[Any]
) -> tuple[pa.Array, dict[int, str]]:
    parts: list[tuple[list[int], pa.Array]] = []
    refused: dict[int, str] = {}
    groups: dict[pa.DataType | None, list[int]] = {}
    plain = [_plain(kind, each) for each in given]
    for at, value in enumerate(plain):
        groups.setdefault(_type_of(value), []).append(at)
    for arrow, which in groups.items():
        if arrow is None:
            refused.update({at: f"{path}: {given[at]!r:.100} is no {kind.name}" for at in which})
            continue
        values = pa.array([_stored(plain[at]) for at in which], arrow)
        found, bad = column_values(kind, values, timezone)
        parts.append((which, found))
        for at in np.flatnonzero(bad).tolist():
            refused[which[at]] = reason(path, kind, values, at)
    return placed(kind, parts, len(given)), refused


def _plain(kind: ColumnType, value: Any) -> Any:
    if isinstance(value, _Symbol):
        return value.number if kind.base in NUMBERS else value.name
    return value


def _type_of(value: Any) -> pa.DataType | None:
    """Returns the Arrow type for a value; None if there is none."""
    if isinstance(value, _Moment):
        return pa.timestamp("ns", "UTC") if -(2**63) <= value.nanos < 2**63 else None
    if type(value) is int:
        return pa.int64() if value < 2**63 else pa.uint64()
    return _TYPES.get(type(value), _no_type)()


def _no_type() -> None:
    return None


_TYPES: Mapping[type, Callable[[], pa.DataType | None]] = {
    bool: pa.bool_,
    float: pa.float64,
    str: pa.large_string,
    bytes: pa.large_binary,
}


def _stored(value: Any) -> Any:
    return value.nanos if isinstance(value, _Moment) else value
