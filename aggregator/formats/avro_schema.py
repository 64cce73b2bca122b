"""Avro schema: the type of a datum, with all names resolved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastavro.schema import SchemaParseException, UnknownType, expand_schema

DECIMAL_SCALE_MAX = 75
_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_LOGICAL = {
    "int": ("date",),
    "long": (
        "timestamp-millis",
        "timestamp-micros",
        "timestamp-nanos",
        "local-timestamp-millis",
        "local-timestamp-micros",
        "local-timestamp-nanos",
    ),
    "bytes": ("decimal",),
    "fixed": ("decimal",),
}
"""Logical types that change how a value is read. Others are read as what they are stored in."""


class UnsupportedSchema(ValueError):
    """A schema that is none, or that describes values which cannot be loaded. Change the schema."""


@dataclass(frozen=True, slots=True)
class AvroType:
    """Type of an Avro schema.

    Args:
        base: the type's name in Avro: long, array, record ...
        logical: one of _LOGICAL, else empty.
        parts: a record's types of fields, a union's branches, an array's or a map's item.
        names: of a record's fields.
        symbols: of an enum.
        size: of a fixed, in bytes.
        scale, precision: of a decimal.
        name: of a record, an enum or a fixed, with its namespace.
        defaults: of a record's fields that have one, as JSON has it.
        aliases: earlier names of a record, an enum or a fixed.
        field_aliases: earlier names of a record's fields, by field.
        default_symbol: that an enum has for symbols that it does not know; empty: none.
    """

    base: str
    logical: str = ""
    parts: tuple[AvroType, ...] = ()
    names: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    size: int = 0
    scale: int = 0
    precision: int = field(default=0, compare=False)
    name: str = field(default="", compare=False)
    defaults: Mapping[str, Any] = field(default_factory=dict, compare=False)
    aliases: tuple[str, ...] = field(default=(), compare=False)
    field_aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    default_symbol: str = field(default="", compare=False)

    @property
    def takes_bytes(self) -> bool:
        """True if each value takes a byte at least."""
        if self.base == "record":
            return any(part.takes_bytes for part in self.parts)
        return self.base != "null" and (self.base != "fixed" or self.size > 0)

    def earlier_names(self, field_name: str) -> tuple[str, ...]:
        """Returns the aliases of a record's field that no other field has, as its name or, further
        behind, as its alias: a written field becomes one field, never two."""
        others = self.names[self.names.index(field_name) + 1 :]
        taken = {alias for each in others for alias in self.field_aliases.get(each, ())}
        return tuple(
            alias
            for alias in self.field_aliases.get(field_name, ())
            if alias not in taken and alias not in self.names
        )


_ENTRY_OF_A_MAP = ("key", "value")


def avro_type(text: bytes) -> AvroType:
    """Returns the type that an .avsc file describes; raises UnsupportedSchema."""
    try:
        return _type(expand_schema(json.loads(text)))
    except (SchemaParseException, UnknownType) as error:
        raise UnsupportedSchema(f"no Avro schema: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, UnsupportedSchema):
            raise
        raise UnsupportedSchema(f"no Avro schema: {error!r}") from None
    except RecursionError:
        raise UnsupportedSchema("the schema is nested too deep") from None


def _type(schema: Any) -> AvroType:
    if isinstance(schema, list):
        return AvroType("union", parts=tuple(map(_type, schema)))
    if isinstance(schema, str):
        return _type({"type": schema})
    base = schema["type"]
    if isinstance(base, dict | list):
        return _type(base)
    if base in _PRIMITIVES or base == "fixed":
        return _scalar(schema, base)
    if base == "enum":
        if not schema["symbols"]:
            raise UnsupportedSchema("an enum that has no symbols")
        return AvroType(
            base,
            symbols=tuple(schema["symbols"]),
            name=schema["name"],
            aliases=_aliases(schema),
            default_symbol=schema.get("default") or "",
        )
    if base == "array":
        return _repeated(base, _type(schema["items"]))
    if base == "map":
        value = _type(schema["values"])
        entry = AvroType("record", parts=(AvroType("string"), value), names=_ENTRY_OF_A_MAP)
        return _repeated(base, entry)
    if base in ("record", "error"):
        fields = schema["fields"]
        return AvroType(
            "record",
            parts=tuple(_type(each["type"]) for each in fields),
            names=tuple(each["name"] for each in fields),
            name=schema["name"],
            defaults={each["name"]: each["default"] for each in fields if "default" in each},
            aliases=_aliases(schema),
            field_aliases={each["name"]: tuple(each.get("aliases") or ()) for each in fields},
        )
    # Every other name was replaced by its type, but for a type within itself.
    raise UnsupportedSchema(f"{base} is part of itself")


def _aliases(schema: Any) -> tuple[str, ...]:
    """Returns the earlier names of a type: those without a namespace are in that of its name."""
    space, dot, _ = schema["name"].rpartition(".")
    return tuple(
        each if "." in each else f"{space}{dot}{each}" for each in schema.get("aliases") or ()
    )


def _scalar(schema: Any, base: str) -> AvroType:
    logical = schema.get("logicalType", "")
    if logical not in _LOGICAL.get(base, ()):
        logical = ""
    size, name = int(schema.get("size", 0)), schema.get("name", "")
    aliases = _aliases(schema) if base == "fixed" else ()
    if logical != "decimal":
        return AvroType(base, logical, size=size, name=name, aliases=aliases)
    scale = int(schema.get("scale", 0))
    if not 0 <= scale <= DECIMAL_SCALE_MAX:
        raise UnsupportedSchema(f"a decimal of scale {scale}")
    precision = int(schema.get("precision", 0))
    return AvroType(
        base, logical, size=size, scale=scale, precision=precision, name=name, aliases=aliases
    )


def _repeated(base: str, item: AvroType) -> AvroType:
    # Their number would not be limited by the datum's size.
    if not item.takes_bytes:
        raise UnsupportedSchema(f"items of type {item.base} that take no bytes")
    return AvroType(base, parts=(item,))
