"""Avro projection: how a value of one schema becomes one of another.

The rules are those of Avro's schema resolution (Avro 1.12, "Schema Resolution"; names as Java's
SchemaCompatibility compares them). What they do not resolve for every value has no projection; nor
have types whose logical types differ: the number would stay, and mean another moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aggregator.formats.avro_default import WrongDefault, encoded_default
from aggregator.formats.avro_schema import AvroType

_WIDER = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
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
class Symbols:
    """An enum.

    Args:
        codes: wanted number of each written symbol.
    """

    codes: tuple[int, ...]


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


@dataclass(frozen=True, slots=True)
class Into:
    """A value becomes one of a union.

    Args:
        branch: its number there.
    """

    branch: int
    part: Projection


@dataclass(frozen=True, slots=True)
class Branches:
    """A union whose branches have other numbers in the wanted one, or become a type that is none.

    Args:
        numbers: of the written branches in the wanted union; None: it is none.
    """

    numbers: tuple[int, ...] | None
    parts: tuple[Projection, ...]


Projection = Same | Floating | Symbols | Fields | Parts | Into | Branches
SAME = Same()


def projection(written: AvroType, wanted: AvroType) -> Projection | None:
    """Returns how written values become wanted ones; None if some cannot."""
    if written.base == "union":
        return _of_union(written, wanted)
    if wanted.base == "union":
        found = _into(written, wanted)
        return None if found is None else Into(*found)
    if not written.logical == wanted.logical == "" and written != wanted:
        return None
    if wanted.base in _WIDER.get(written.base, ()):
        # A long is written as an int is, and bytes are as strings are.
        return Floating(wanted.base) if wanted.base in ("float", "double") else SAME
    if written.base != wanted.base or not _has_name_of(written, wanted):
        return None
    match written.base:
        case "record":
            return _fields(written, wanted)
        case "enum":
            return _symbols(written, wanted)
        case "array" | "map":
            part = projection(written.parts[0], wanted.parts[0])
            return part if part is None or part == SAME else Parts((part,))
    is_same = written == wanted and written.precision == wanted.precision
    return SAME if is_same else None


def _has_name_of(written: AvroType, wanted: AvroType) -> bool:
    """Returns True if a name is that of the wanted type, or was."""
    is_same = written.name.rpartition(".")[2] == wanted.name.rpartition(".")[2]
    return is_same or written.name in wanted.aliases


def _of_union(written: AvroType, wanted: AvroType) -> Projection | None:
    if wanted.base != "union":
        parts = _whole(projection(each, wanted) for each in written.parts)
        return None if parts is None else Branches(None, parts)
    numbers, parts_found = list[int](), list[Projection]()
    for each in written.parts:
        found = _into(each, wanted)
        if found is None:
            return None
        numbers.append(found[0])
        parts_found.append(found[1])
    if numbers != list(range(len(numbers))):
        return Branches(tuple(numbers), tuple(parts_found))
    return SAME if set(parts_found) <= {SAME} else Parts(tuple(parts_found))


def _into(written: AvroType, union: AvroType) -> tuple[int, Projection] | None:
    """Returns the branch that a value takes, and how it becomes it; None if there is none.

    Its own type goes before a wider one, and its own full name before another namespace.
    """
    ranked = sorted(
        enumerate(union.parts),
        key=lambda each: (each[1].base != written.base, each[1].name != written.name),
    )
    for number, part in ranked:
        found = projection(written, part)
        if found is not None:
            return number, found
    return None


def _whole(parts: Iterator[Projection | None]) -> tuple[Projection, ...] | None:
    """Returns all parts; None if one is missing."""
    found = list[Projection]()
    for each in parts:
        if each is None:
            return None
        found.append(each)
    return tuple(found)


def _symbols(written: AvroType, wanted: AvroType) -> Projection | None:
    codes = {symbol: code for code, symbol in enumerate(wanted.symbols)}
    found = [codes.get(each, codes.get(wanted.otherwise)) for each in written.symbols]
    if found == list(range(len(found))):
        return SAME
    known = tuple(each for each in found if each is not None)
    return Symbols(known) if len(known) == len(found) else None


def _fields(written: AvroType, wanted: AvroType) -> Projection | None:
    numbers = _numbers(written, wanted)
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


def _numbers(written: AvroType, wanted: AvroType) -> dict[str, int]:
    """Returns the number of the written field that each wanted one is, by its name or a former
    one. No two wanted fields are the same written one."""
    left = {name: number for number, name in enumerate(written.names)}
    found = {name: left.pop(name) for name in wanted.names if name in left}
    aliases = wanted.field_aliases or ((),) * len(wanted.names)
    for name, former in zip(wanted.names, aliases, strict=True):
        known = [each for each in former if each in left]
        if name not in found and known:
            found[name] = left.pop(known[0])
    return found
