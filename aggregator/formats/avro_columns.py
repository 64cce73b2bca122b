"""Avro columns: datums of one schema as columns of a table.

All datums are read in step: the first field of each, then the second of each. So a datum takes no
Python object, and what one holds changes no other. Fields are found by their names: `a.b` is the
field b of the record a, or of each record in the array a. A record also becomes a Tuple, and a map,
or an array of records of key and value, a Map.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from aggregator.formats.avro_cursors import Cursors
from aggregator.formats.avro_items import items_of
from aggregator.formats.avro_schema import AvroType
from aggregator.formats.avro_values import values_of
from aggregator.formats.column_values import column_values, reason, repeated_keys, tuples_of
from aggregator.formats.record_slice import Ints
from aggregator.formats.time_texts import Flags
from aggregator.tables.column_type import ColumnType


class Columns(dict[str, pa.Array]):
    """Values in the types of the table, by path. A path that a datum does not have is null there.

    Args:
        nulls: by path, True for each value that is Avro's null.
    """

    def __init__(
        self, values: Mapping[str, pa.Array] | None = None, nulls: Mapping[str, Flags] | None = None
    ) -> None:
        super().__init__(values or {})
        self.nulls = dict(nulls or {})

    def add(self, others: Columns) -> None:
        """Adds columns of other paths."""
        self.update(others)
        self.nulls |= others.nulls


class AvroColumns:
    """Reader of datums.

    Args:
        timezone: of the server.
    """

    def __init__(self, timezone: str) -> None:
        self._timezone = timezone
        self.reasons: dict[int, str] = {}
        """Why records cannot be loaded, by index."""

    def read(
        self, kind: AvroType, cursors: Cursors, wanted: Mapping[str, ColumnType], path: str = ""
    ) -> Columns:
        """Returns the wanted columns of a value of each datum, and moves the cursors behind it.

        Args:
            wanted: columns of the table by path; values without a column are passed.
            path: of the value; empty for a whole datum.
        """
        column = wanted.get(path)
        if kind.base == "union":
            return self._union(kind, cursors, wanted, path)
        if kind.base == "array":
            return self._array(kind, cursors, wanted, path)
        if column and kind.base == "map" and column.base == "Map":
            return self._array(kind, cursors, {path: column}, path)
        if column and kind.base == "record" and column.is_named:
            return self._tuple(kind, cursors, column, path)
        if column and kind.base in ("record", "map"):
            self._refuse(path, column, cursors, kind.base)
        if kind.base == "map":
            self._items(kind, cursors, {}, path)
            return Columns()
        if kind.base == "record":
            return self._record(kind, cursors, wanted, path)
        values = values_of(kind, cursors, column)
        if not column or values is None:
            return Columns()
        stored = {path: self._stored(path, column, values, cursors)}
        is_null = {path: np.ones(len(cursors), np.bool_)} if kind.base == "null" else {}
        return Columns(stored, is_null)

    def rows(
        self, kind: AvroType, cursors: Cursors, wanted: Mapping[str, ColumnType]
    ) -> tuple[Columns, Ints, Ints]:
        """Reads datums that are arrays; returns columns of their items, the datum and the number in
        it of each."""
        columns, owner = self._items(kind, cursors, wanted, "")
        first = np.searchsorted(owner, np.arange(len(cursors)))
        return columns, owner, np.arange(len(owner)) - first[owner]

    def _stored(
        self, path: str, column: ColumnType, values: pa.Array, cursors: Cursors
    ) -> pa.Array:
        """Returns values in the type of their column."""
        if pa.types.is_dictionary(values.type):
            index = np.asarray(values.indices)
            known, unknown = column_values(column, values.dictionary, self._timezone)
            stored, bad = known.take(values.indices), unknown[index]
        else:
            stored, bad = column_values(column, values, self._timezone)
        if bad.any():
            for at in np.flatnonzero(bad & ~cursors.is_broken).tolist():
                record = int(cursors.record[at])
                self.reasons.setdefault(record, reason(path, column, values, at))
        return stored

    def _record(
        self, kind: AvroType, cursors: Cursors, wanted: Mapping[str, ColumnType], path: str
    ) -> Columns:
        columns = Columns()
        for name, part in zip(kind.names, kind.parts, strict=True):
            inner = f"{path}.{name}" if path else name
            was_broken = cursors.is_broken
            columns.add(self.read(part, cursors, wanted, inner))
            if cursors.is_broken is not was_broken:
                self._name(cursors, cursors.is_broken & ~was_broken, f"{inner}: cannot be read")
        return columns

    def _tuple(self, kind: AvroType, cursors: Cursors, column: ColumnType, path: str) -> Columns:
        """Returns a Tuple of the fields that are named like its elements."""
        elements = {f"{path}.{name}": each for name, each in column.fields}
        found = self._record(kind, cursors, elements, path)
        parts = []
        for inner, each in elements.items():
            values = found.get(inner, pa.nulls(len(cursors), each.arrow))
            if inner in found.nulls and not each.is_nullable:
                is_null = found.nulls[inner] & ~cursors.is_broken
                self._name(cursors, is_null, f"{inner}: null is no {each.name}")
            parts.append(values)
        is_there = np.ones(len(cursors), np.bool_)
        return Columns({path: tuples_of(column, parts, is_there)})

    def _union(
        self, kind: AvroType, cursors: Cursors, wanted: Mapping[str, ColumnType], path: str
    ) -> Columns:
        branch = cursors.number()
        cursors.break_where((branch < 0) | (branch >= len(kind.parts)))
        branch[cursors.is_broken] = -1
        parts: list[tuple[Ints, Columns]] = []
        for number, part in enumerate(kind.parts):
            which = np.flatnonzero(branch == number)
            if len(which) == len(cursors):
                return self.read(part, cursors, wanted, path)
            if len(which):
                chosen = cursors.some(which)
                parts.append((which, self.read(part, chosen, wanted, path)))
                cursors.rejoin(which, chosen)
        paths = dict.fromkeys(each for _, columns in parts for each in columns)
        nulls: dict[str, Flags] = {}
        for which, columns in parts:
            for each, is_null in columns.nulls.items():
                nulls.setdefault(each, np.zeros(len(cursors), np.bool_))[which] = is_null
        return Columns({each: _merged(each, parts, len(cursors)) for each in paths}, nulls)

    def _array(
        self, kind: AvroType, cursors: Cursors, wanted: Mapping[str, ColumnType], path: str
    ) -> Columns:
        """Returns lists; of an array of records, one for each of their fields."""
        inside = [each for each in _paths(kind.parts[0], path) if each in wanted]
        elements = {}
        for each in inside:
            element = wanted[each].element
            if element is None:
                self._refuse(each, wanted[each], cursors, "array")
            else:
                elements[each] = element
        columns, owner = self._items(kind, cursors, elements, path)
        count = np.bincount(owner, minlength=len(cursors))
        offsets = pa.array(np.concatenate(([0], np.cumsum(count))))
        lists = {}
        for each, element in elements.items():
            values = columns.get(each, pa.nulls(len(owner), element.arrow))
            if values.null_count and not element.is_nullable:
                missing = np.zeros(len(cursors), np.bool_)
                missing[owner[np.asarray(values.is_null())]] = True
                self._name(
                    cursors, missing & ~cursors.is_broken, f"{each}: null is no {element.name}"
                )
            lists[each] = pa.LargeListArray.from_arrays(offsets, values, type=wanted[each].arrow)
            is_repeated = repeated_keys(wanted[each], lists[each]) & ~cursors.is_broken
            self._name(cursors, is_repeated, f"{each}: a key is there twice")
        return Columns(lists)

    def _items(
        self, kind: AvroType, cursors: Cursors, wanted: Mapping[str, ColumnType], path: str
    ) -> tuple[Columns, Ints]:
        """Reads the items of arrays; returns their columns, and the index of the array of each."""
        items, owner = items_of(kind, cursors)
        columns = self.read(kind.parts[0], items, wanted, path)
        unread = items.is_broken | (items.at != items.end)
        if unread.any():
            wrong = np.zeros(len(cursors), np.bool_)
            wrong[owner[unread]] = True
            cursors.break_where(wrong)
        return columns, owner

    def _refuse(self, path: str, column: ColumnType, cursors: Cursors, what: str) -> None:
        self._name(cursors, ~cursors.is_broken, f"{path}: Avro's {what} is no {column.name}")

    def _name(self, cursors: Cursors, which: Flags, why: str) -> None:
        for record in cursors.record[which].tolist():
            self.reasons.setdefault(record, why)


def _paths(kind: AvroType, path: str) -> Iterator[str]:
    """Yields the paths of all values of a type that may have a column."""
    yield path
    if kind.base == "record":
        for name, part in zip(kind.names, kind.parts, strict=True):
            yield from _paths(part, f"{path}.{name}" if path else name)
    elif kind.base in ("union", "array"):
        for part in kind.parts:
            yield from _paths(part, path)


def _merged(path: str, parts: Sequence[tuple[Ints, Columns]], count: int) -> pa.Array:
    """Returns the values of branches in the order of their datums; null where there is none."""
    index = np.zeros(count, np.int64)
    is_null = np.ones(count, np.bool_)
    found: list[pa.Array] = []
    behind = 0
    for which, columns in parts:
        values = columns.get(path)
        if values is None or values.null_count == len(values):
            continue
        index[which] = np.arange(behind, behind + len(which))
        is_null[which] = False
        behind += len(which)
        found.append(values)
    if not found:
        return pa.nulls(count, next(c[path].type for _, c in parts if path in c))
    values = found[0] if len(found) == 1 else pa.concat_arrays(found)
    return values.take(pa.array(index, mask=is_null))
