"""Avro defaults: the default of a field, which JSON tells, as the bytes of a value."""

from __future__ import annotations

import struct
from typing import Any

from aggregator.formats.avro_schema import AvroType
from replicator.batches.varints import packed

_TYPES: dict[str, Any] = {
    "boolean": bool,
    "int": int,
    "long": int,
    "float": (int, float),
    "double": (int, float),
    "bytes": str,
    "string": str,
    "fixed": str,
    "enum": str,
    "array": list,
    "map": dict,
    "record": dict,
}


class WrongDefault(ValueError):
    """A default that is no value of its type."""


def encoded_default(kind: AvroType, value: Any) -> bytes:
    """Returns the bytes of a default; raises WrongDefault if it is none of its type."""
    if kind.base == "union":
        return _of_union(kind, value)
    if kind.base == "null":
        if value is not None:
            raise WrongDefault(f"{value!r} is not null")
        return b""
    is_flag = isinstance(value, bool) and kind.base != "boolean"
    if is_flag or not isinstance(value, _TYPES[kind.base]):
        raise WrongDefault(f"{value!r:.50} is no {kind.base}")
    match kind.base:
        case "boolean":
            return bytes([value])
        case "int" | "long":
            if kind.base == "int" and not -(2**31) <= value < 2**31:
                raise WrongDefault(f"{value} is no int")
            return number(value)
        case "float" | "double":
            return _floating(kind.base, value)
        case "bytes":
            return _with_length(_octets(value))
        case "string":
            return _with_length(value.encode())
        case "fixed":
            return _fixed(kind, value)
        case "enum":
            if value not in kind.symbols:
                raise WrongDefault(f"{value!r:.50} is no symbol")
            return number(kind.symbols.index(value))
        case "record":
            return _of_record(kind, value)
    return _of_items(kind, value)


def number(value: int) -> bytes:
    """Returns a number as a zigzag varint."""
    if not -(2**63) <= value < 2**63:
        raise WrongDefault(f"{value} is too large a default")
    return packed([value << 1 ^ value >> 63])


def _floating(base: str, value: float) -> bytes:
    try:
        return struct.pack("<f" if base == "float" else "<d", value)
    except OverflowError:
        raise WrongDefault(f"{value} is no {base}") from None


def _of_union(kind: AvroType, value: Any) -> bytes:
    for at, part in enumerate(kind.parts):
        try:
            return number(at) + encoded_default(part, value)
        except WrongDefault:
            continue
    raise WrongDefault(f"{value!r:.50} is none of the union")


def _of_record(kind: AvroType, value: dict[str, Any]) -> bytes:
    found = []
    for name, part in zip(kind.names, kind.parts, strict=True):
        if name not in value and name not in kind.defaults:
            raise WrongDefault(f"the field {name} is missing")
        found.append(encoded_default(part, value.get(name, kind.defaults.get(name))))
    return b"".join(found)


def _of_items(kind: AvroType, value: Any) -> bytes:
    [item] = kind.parts
    if kind.base == "map":
        value = [{"key": key, "value": each} for key, each in value.items()]
    items = b"".join(encoded_default(item, each) for each in value)
    return (number(len(value)) + items if value else b"") + b"\0"


def _fixed(kind: AvroType, value: str) -> bytes:
    octets = _octets(value)
    if len(octets) != kind.size:
        raise WrongDefault(f"{value!r:.50} has not {kind.size} bytes")
    return octets


def _octets(value: str) -> bytes:
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        raise WrongDefault(f"{value!r:.50} is no text of bytes") from None


def _with_length(octets: bytes) -> bytes:
    return number(len(octets)) + octets
