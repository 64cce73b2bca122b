"""JSON columns: the fields of JSON documents in the types of an Avro schema.

A field that a document does not have, under its name or an alias, takes the schema's default;
without one the document is refused, unless the schema allows null. A field that is null is null, or
the document is refused. Fields that the schema does not have are passed. Times and days are texts
of ISO 8601, or numbers as Avro has them.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from aggregator.formats.avro_arrow import arrow_type, arrow_values
from aggregator.formats.avro_cursors import Cursors
from aggregator.formats.avro_default import WrongDefault, encoded_default
from aggregator.formats.avro_schema import AvroType, UnsupportedSchema
from aggregator.formats.json_nulls import maybe_null, parsed
from aggregator.formats.record_slice import Ints
from aggregator.formats.time_texts import Flags
from aggregator.formats.varint_words import PADDING

_SCALARS = frozenset(["boolean", "int", "long", "float", "double", "string", "enum", "bytes"])
_REASON_CHARACTERS_MAX = 200


class JsonColumns:
    """Reader of documents by one schema. Raises UnsupportedSchema when it is made."""

    def __init__(self, kind: AvroType) -> None:
        if kind.base != "record":
            raise UnsupportedSchema("no record, which is what a JSON object becomes")
        _check(kind)
        self._kind = kind
        self.type = arrow_type(kind)
        self._read_type = arrow_type(_with_aliases(kind))
        forms = tuple(_form(self._read_type, is_text=each) for each in (True, False))
        self._forms = forms if forms[0] != forms[1] else forms[:1]
        self._defaults = dict(_defaults(kind, ""))
        self._names_of_null = _names_of(kind, "", self._defaults)
        self._nulls: dict[str, list[tuple[int, list[bool]]]] = {}
        self.reasons: dict[int, str] = {}
        """Why documents of the last call are refused, by index."""

    def read(self, documents: pa.BinaryArray) -> pa.StructArray:
        """Returns a struct for each document; what it holds of a refused one means nothing.

        Args:
            documents: sound JSON, each on one line.
        """
        self.reasons = {}
        parts = list(self._parts(documents, 0))
        found = pa.concat_arrays(parts) if parts else pa.array([], _nullable(self._read_type))
        self._nulls = self._null_fields(documents)
        return self._completed(self._kind, found, np.arange(len(found)), "")

    def _parts(self, documents: pa.BinaryArray, first: int) -> Iterator[pa.StructArray]:
        """Yields the structs of documents; those that cannot be read are found by halving."""
        if not len(documents):
            return
        refusals = []
        for form in self._forms:
            try:
                yield self._read(documents, form)
                return
            except pa.ArrowInvalid as error:
                refusals.append(str(error))
        if len(documents) == 1:
            text = " ".join(refusals[0].removeprefix("JSON parse error: ").split())
            self.reasons[first] = text.removesuffix(" in row 0")[:_REASON_CHARACTERS_MAX]
            yield pa.nulls(1, _nullable(self._read_type))
            return
        middle = len(documents) // 2
        yield from self._parts(documents.slice(0, middle), first)
        yield from self._parts(documents.slice(middle), first + middle)

    def _read(self, documents: pa.BinaryArray, form: pa.DataType) -> pa.StructArray:
        lines = pc.binary_join(
            pa.ListArray.from_arrays(pa.array([0, len(documents)], pa.int32()), documents), b"\n"
        )[0].as_py()
        table = pj.read_json(
            io.BytesIO(lines),
            # In one block: the reader refuses a document that is in two.
            read_options=pj.ReadOptions(use_threads=False, block_size=len(lines) + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=pa.schema(list(form)), unexpected_field_behavior="ignore"
            ),
        )
        if len(table) != len(documents):
            raise pa.ArrowInvalid("not one JSON object")
        arrays = [
            table[field.name].combine_chunks().cast(field.type)
            for field in _nullable(self._read_type)
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(_nullable(self._read_type)))

    def _null_fields(self, documents: pa.BinaryArray) -> dict[str, list[tuple[int, list[bool]]]]:
        """Returns, by the path of a field with a default, documents in which that field is null:
        the index of each, and True for each place of the field in it that is null."""
        found: dict[str, list[tuple[int, list[bool]]]] = {}
        for at in maybe_null(documents, self._names_of_null).tolist():
            if at not in self.reasons:
                places: dict[str, list[bool]] = {path: [] for path in self._defaults}
                _add_places(self._kind, parsed(documents[at].as_py()), "", places)
                for path, are_null in places.items():
                    if any(are_null):
                        found.setdefault(path, []).append((at, are_null))
        return found

    def _completed(self, kind: AvroType, values: pa.Array, rows: Ints, path: str) -> pa.Array:
        """Returns values with their defaults; notes the documents that lack others.

        Args:
            rows: index of the document of each.
        """
        if kind.base == "union":
            [single] = [part for part in kind.parts if part.base != "null"] or kind.parts
            return self._completed(single, values, rows, path)
        if kind.base == "record":
            return self._record(kind, values, rows, path)
        if kind.base == "array":
            return self._array(kind, values, rows, path)
        if kind.base in ("float", "double"):
            self._refuse(pc.is_inf(values), rows, f"{path} is too large")
        if kind.base == "enum":
            known = pc.is_in(values, pa.array(kind.symbols, pa.string()))
            self._refuse(pc.invert(known), rows[:], f"{path} is no symbol", values)
        return values

    def _record(self, kind: AvroType, values: pa.Array, rows: Ints, path: str) -> pa.Array:
        arrays = []
        is_there = np.asarray(values.is_valid())
        written = dict(zip((each.name for each in values.type), values.flatten(), strict=True))
        for name, part in zip(kind.names, kind.parts, strict=True):
            inner = f"{path}.{name}" if path else name
            column = written[name]
            for alias in kind.earlier_names(name):
                column = _first_valid(column, written[alias])
            # A default is complete, with the nulls that it has.
            column = self._completed(part, column, rows, inner)
            if column.null_count:
                column = self._with_default(inner, column, rows)
                if not _allows_null(part):
                    is_missing = np.asarray(column.is_null()) & is_there
                    self._refuse(pa.array(is_missing), rows, f"{inner} is missing")
            arrays.append(column)
        mask = pa.array(~is_there) if not is_there.all() else None
        return pa.StructArray.from_arrays(arrays, fields=list(arrow_type(kind)), mask=mask)

    def _with_default(self, path: str, column: pa.Array, rows: Ints) -> pa.Array:
        """Returns a field with its default where it is missing.

        Args:
            rows: index of the document of each value, ascending.
        """
        default = self._defaults.get(path)
        if default is None:
            return column
        is_missing: Flags = np.asarray(column.is_null())
        for row, are_null in self._nulls.get(path, ()):
            first, last = np.searchsorted(rows, (row, row + 1))
            is_missing[first:last] &= ~np.array(are_null)
        # Behind the values, as not every type has a way to fill nulls.
        both = pa.concat_arrays([column, default.cast(column.type)])
        return both.take(pa.array(np.where(is_missing, len(column), np.arange(len(column)))))

    def _array(self, kind: AvroType, values: pa.Array, rows: Ints, path: str) -> pa.Array:
        [item] = kind.parts
        count = np.asarray(pc.fill_null(pc.list_value_length(values), 0)).astype(np.int64)
        items = values.flatten()
        owner = np.repeat(rows, count)
        if items.null_count and not _allows_null(item):
            self._refuse(items.is_null(), owner, f"{path} has null as an item")
        offsets = pa.array(np.concatenate(([0], np.cumsum(count))), pa.int32())
        mask = values.is_null() if values.null_count else None
        found = self._completed(item, items, owner, path)
        return pa.ListArray.from_arrays(offsets, found, type=arrow_type(kind), mask=mask)

    def _refuse(self, bad: pa.Array, rows: Ints, why: str, values: pa.Array | None = None) -> None:
        """Notes why documents are refused.

        Args:
            values: those that are null are not refused.
        """
        wrong: Flags = np.asarray(pc.fill_null(bad, False))
        if values is not None:
            wrong = wrong & np.asarray(values.is_valid())
        for row in rows[wrong].tolist():
            self.reasons.setdefault(row, why)


def _defaults(kind: AvroType, path: str) -> Iterator[tuple[str, pa.Array]]:
    """Yields the paths of fields that have a default other than null, and the default of each."""
    if kind.base == "record":
        for name, part in zip(kind.names, kind.parts, strict=True):
            inner = f"{path}.{name}" if path else name
            if kind.defaults.get(name) is not None:
                with suppress(WrongDefault):
                    yield inner, _arrow_default(part, kind.defaults[name])
            yield from _defaults(part, inner)
    else:
        for part in kind.parts:
            yield from _defaults(part, path)


def _names_of(kind: AvroType, path: str, paths: Collection[str]) -> set[str]:
    """Returns the names of fields of these paths, with their earlier ones."""
    found: set[str] = set()
    if kind.base != "record":
        return found.union(*(_names_of(part, path, paths) for part in kind.parts))
    for name, part in zip(kind.names, kind.parts, strict=True):
        inner = f"{path}.{name}" if path else name
        if inner in paths:
            found |= {name, *kind.earlier_names(name)}
        found |= _names_of(part, inner, paths)
    return found


def _arrow_default(kind: AvroType, value: Any) -> pa.Array:
    """Returns one value. Raises WrongDefault."""
    datum = encoded_default(kind, value)
    octets = np.frombuffer(datum + PADDING, np.uint8)
    begin, end = np.array([0]), np.array([len(datum)])
    return arrow_values(kind, Cursors.over(octets, begin, end, begin))


def _add_places(kind: AvroType, value: Any, path: str, places: Mapping[str, list[bool]]) -> None:
    """Adds, for each place of a field in a document, whether the field is null there.

    Args:
        value: what a document has; None where it has nothing.
        places: by the path of the field.
    """
    if kind.base == "union":
        for part in kind.parts:
            if part.base != "null":
                _add_places(part, value, path, places)
    elif kind.base == "array":
        for item in value or ():
            _add_places(kind.parts[0], item, path, places)
    elif kind.base == "record":
        fields = value or {}
        for name, part in zip(kind.names, kind.parts, strict=True):
            inner = f"{path}.{name}" if path else name
            names = (name, *kind.earlier_names(name))
            own = next((each for each in names if fields.get(each) is not None), None)
            if inner in places:
                places[inner].append(own is None and any(each in fields for each in names))
            _add_places(part, fields[own] if own else None, inner, places)


def _with_aliases(kind: AvroType) -> AvroType:
    """Returns a type whose records also have the fields of earlier names."""
    parts = tuple(map(_with_aliases, kind.parts))
    names = kind.names
    for name, part in zip(kind.names, parts, strict=False):
        for alias in kind.earlier_names(name):
            if alias not in names:
                names, parts = (*names, alias), (*parts, part)
    return replace(kind, names=names, parts=parts)


def _first_valid(one: pa.Array, other: pa.Array) -> pa.Array:
    """Returns the values of one array, and those of another where it has null."""
    if not one.null_count or other.null_count == len(other):
        return one
    place = np.arange(len(one))
    both = pa.concat_arrays([one, other])
    return both.take(pa.array(np.where(np.asarray(one.is_valid()), place, place + len(one))))


def _check(kind: AvroType) -> None:
    """Raises UnsupportedSchema for a type that JSON documents do not have."""
    if kind.base == "union":
        others = [part for part in kind.parts if part.base != "null"]
        if len(others) > 1:
            raise UnsupportedSchema("a union of several types, which JSON does not tell apart")
    elif kind.base not in _SCALARS and kind.base not in ("record", "array", "null"):
        raise UnsupportedSchema(f"{kind.base}, which JSON documents do not have")
    for part in kind.parts:
        _check(part)


def _allows_null(kind: AvroType) -> bool:
    return any(part.base == "null" for part in kind.parts) or kind.base == "null"


def _nullable(kind: pa.DataType) -> Any:
    """Returns a type in which everything may be null."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, _nullable(each.type)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", _nullable(kind.value_type)))
    return kind


def _form(kind: pa.DataType, *, is_text: bool) -> Any:
    """Returns a type as documents have it.

    Args:
        is_text: of times and days.
    """
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, _form(each.type, is_text=is_text)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", _form(kind.value_type, is_text=is_text)))
    if pa.types.is_date(kind):
        return pa.string() if is_text else kind
    if pa.types.is_timestamp(kind):
        return kind if is_text else pa.int64()
    return kind
