"""Avro projection: how a value of one schema becomes one of another.

These are Avro's rules of schema resolution. A number may become wider: int to long to float to
double. Strings become bytes, and bytes strings. Fields are found by their names, then by those
aliases of the wanted schema that no other field has; one that is missing gets its default, and one
that is not wanted is dropped. Records, enums and fixeds match by their names without namespace, or
by an alias. A symbol that is not wanted becomes the enum's default. A type becomes a union that has
a branch for it, and a union what all of its branches become.

Everything else that differs has no projection. So have some values that Avro would take: a union of
which not every branch can be read, and another logical type, whose values would mean something
else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aggregator.formats.avro_default import WrongDefault, encoded_default, number
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
class Texts:
    """Bytes become a string, if they are UTF-8."""


@dataclass(frozen=True, slots=True)
class Symbols:
    """An enum.

    Args:
        numbers: of the wanted symbols, by those of the written ones.
    """

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """Branches of a union, or the item of an array or a map."""

    parts: tuple[Projection, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """A type that is no union becomes a branch of one.

    Args:
        number: of the wanted branch, as bytes.
    """

    number: bytes
    how: Projection


@dataclass(frozen=True, slots=True)
class Branches:
    """A union becomes a type that is none, or a union of other branches.

    Args:
        parts: how the values of each written branch become those of the wanted type.
    """

    parts: tuple[Projection, ...]


Projection = Same | Floating | Fields | Texts | Symbols | Parts | Branch | Branches
SAME = Same()


def projection(written: AvroType, wanted: AvroType) -> Projection | None:
    """Returns how written values become wanted ones; None if they cannot."""
    if written.base == "union":
        return _union(written, wanted)
    if wanted.base == "union":
        return _branch(written, wanted)
    if not written.logical == wanted.logical == "" and written != wanted:
        return None
    if wanted.base in _WIDER.get(written.base, ()):
        return SAME if wanted.base == "long" else Floating(wanted.base)
    if (written.base, wanted.base) == ("string", "bytes"):
        return SAME
    if (written.base, wanted.base) == ("bytes", "string"):
        return Texts()
    if written.base != wanted.base or not _is_same_name(written, wanted):
        return None
    match written.base:
        case "record":
            return _fields(written, wanted)
        case "enum":
            return _symbols(written, wanted)
        case "array" | "map":
            return _parts([projection(written.parts[0], wanted.parts[0])])
    is_same = written == wanted and written.precision == wanted.precision
    return SAME if is_same else None


def _is_same_name(written: AvroType, wanted: AvroType) -> bool:
    last = written.name.rpartition(".")[2]
    return last == wanted.name.rpartition(".")[2] or written.name in wanted.aliases


def _fields(written: AvroType, wanted: AvroType) -> Projection | None:
    numbers = {name: at for at, name in enumerate(written.names)}
    sources: list[tuple[int, Projection] | bytes] = []
    for name, part in zip(wanted.names, wanted.parts, strict=True):
        names = (name, *wanted.earlier_names(name))
        at = next((numbers[each] for each in names if each in numbers), None)
        if at is not None:
            source = projection(written.parts[at], part)
            if source is None:
                return None
            sources.append((at, source))
            continue
        try:
            # A default of null is one as well.
            sources.append(encoded_default(part, wanted.defaults[name]))
        except (KeyError, WrongDefault):
            return None
    is_same = sources == [(at, SAME) for at in range(len(written.names))]
    return SAME if is_same else Fields(tuple(sources))


def _symbols(written: AvroType, wanted: AvroType) -> Projection | None:
    numbers = {symbol: at for at, symbol in enumerate(wanted.symbols)}
    default = numbers.get(wanted.default_symbol)
    found = [numbers.get(symbol, default) for symbol in written.symbols]
    known = tuple(at for at in found if at is not None)
    if len(known) < len(found):
        return None
    return SAME if known == tuple(range(len(known))) else Symbols(known)


def _branch(written: AvroType, wanted: AvroType) -> Projection | None:
    """Returns how a value becomes one of a union: of a branch of its own type and name, if there is
    one, else of the first of its type, of the first that keeps all its digits, of the first that
    takes it."""
    parts = list(enumerate(wanted.parts))
    own = [each for each in parts if each[1].base == written.base]
    named = [each for each in own if each[1].name == written.name]
    exact = [each for each in parts if each[1].base in ("long", "double")]
    for at, part in [*named, *own, *exact, *parts]:
        if (how := projection(written, part)) is not None:
            return Branch(number(at), how)
    return None


def _union(written: AvroType, wanted: AvroType) -> Projection | None:
    found = [projection(part, wanted) for part in written.parts]
    # The same number: only what lies behind it may differ.
    same = [
        each.how if isinstance(each, Branch) and each.number == number(at) else None
        for at, each in enumerate(found)
    ]
    if all(same) and len(written.parts) <= len(wanted.parts):
        return _parts(same)
    parts = tuple(each for each in found if each is not None)
    return Branches(parts) if len(parts) == len(found) else None


def _parts(found: Sequence[Projection | None]) -> Projection | None:
    parts = tuple(each for each in found if each is not None)
    if len(parts) < len(found):
        return None
    return SAME if set(parts) == {SAME} or not parts else Parts(parts)
