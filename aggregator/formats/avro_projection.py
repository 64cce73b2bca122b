"""Avro projection: how a value of one schema becomes one of another.

A number may become wider: int to long to float to double. A field that is missing gets its default,
and one that is not wanted is dropped. Everything else that differs has no projection: another type,
a name, a required field without default.
"""

from __future__ import annotations

from dataclasses import dataclass

from aggregator.formats.avro_default import WrongDefault, encoded_default
from aggregator.formats.avro_schema import AvroType

_WIDER = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
}


@dataclass(frozen=True, slots=True)
class Same:
    """The bytes are those of both schemas."""


@dataclass(frozen=True, slots=True)
class Floating:
    """A number becomes a float or a double.

    Args:
        base: of the wanted type.
    """

    base: str


@dataclass(frozen=True, slots=True)
class Fields:
    """A record.

    Args:
        sources: for each wanted field the number of the written one and its projection, or the
            bytes of its default.
    """

    sources: tuple[tuple[int, Projection] | bytes, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """Branches of a union, or the item of an array or a map."""

    parts: tuple[Projection, ...]


Projection = Same | Floating | Fields | Parts
SAME = Same()


def projection(written: AvroType, wanted: AvroType) -> Projection | None:
    """Returns how written values become wanted ones; None if they cannot."""
    if not written.logical == wanted.logical == "" and written != wanted:
        return None
    if wanted.base in _WIDER.get(written.base, ()):
        return SAME if wanted.base == "long" else Floating(wanted.base)
    if written.base != wanted.base or written.name != wanted.name:
        return None
    match written.base:
        case "record":
            return _fields(written, wanted)
        case "union" | "array" | "map":
            return _parts(written, wanted)
    is_same = written == wanted and written.precision == wanted.precision
    return SAME if is_same else None


def _fields(written: AvroType, wanted: AvroType) -> Projection | None:
    numbers = {name: number for number, name in enumerate(written.names)}
    sources: list[tuple[int, Projection] | bytes] = []
    for name, part in zip(wanted.names, wanted.parts, strict=True):
        if name in numbers:
            source = projection(written.parts[numbers[name]], part)
            if source is None:
                return None
            sources.append((numbers[name], source))
            continue
        try:
            # A default of null is one as well.
            sources.append(encoded_default(part, wanted.defaults[name]))
        except (KeyError, WrongDefault):
            return None
    is_same = sources == [(number, SAME) for number in range(len(written.names))]
    return SAME if is_same else Fields(tuple(sources))


def _parts(written: AvroType, wanted: AvroType) -> Projection | None:
    if len(written.parts) != len(wanted.parts):
        return None
    found = [projection(*pair) for pair in zip(written.parts, wanted.parts, strict=True)]
    parts = tuple(each for each in found if each is not None)
    if len(parts) < len(found):
        return None
    return SAME if set(parts) == {SAME} or not parts else Parts(parts)
