"""Nested values: Tuples, Maps and Arrays of these, from what a parser returns for one record each.

A named Tuple is an object, or a list by position; an unnamed one is a list. A Map is an object, or
a list of entries, which are Tuples of key and value. An element that an object does not have gets
the default of its type, and members that the Tuple does not have are ignored. A null is NULL, or it
is bad. Scalars are collected over all records, and converted as those of a column are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from aggregator.formats.column_values import repeated_keys, tuples_of
from aggregator.formats.record_slice import Ints
from aggregator.tables.column_type import ColumnType


class Missing:
    """Nothing, where a value could be."""


MISSING: Final = Missing()
Scalars = Callable[[str, ColumnType, Sequence[Any]], tuple[pa.Array, dict[int, str]]]
"""Returns values for a column of scalars, and why others are refused, by index.

Args: the column's path, its type, and values of which none is null or missing.
"""
_SHOWN_MAX = 100


class NestedValues:
    """Reader of the values of columns, one column at a time."""

    def __init__(self, scalars: Scalars) -> None:
        self._scalars = scalars
        self.reasons: dict[int, str] = {}
        """Why rows cannot be loaded, by index."""

    def read(self, path: str, kind: ColumnType, given: Sequence[Any], rows: Ints) -> pa.Array:
        """Returns the values of a column; null where there is none, or none that is good.

        Args:
            given: a value for each place, or MISSING.
            rows: index of the row of each place.
        """
        if not kind.is_nullable:
            for at, value in enumerate(given):
                if value is None:
                    self._refuse(rows[at], f"{path}: null is no {kind.name}")
        if kind.fields:
            return self._tuples(path, kind, given, rows)
        if kind.element is not None:
            return self._lists(path, kind, kind.element, given, rows)
        which = [at for at, each in enumerate(given) if each is not None and each is not MISSING]
        values, refused = self._scalars(path, kind, [given[at] for at in which])
        for at, why in refused.items():
            self._refuse(rows[which[at]], why)
        return placed(kind, [(which, values)], len(given))

    def _tuples(self, path: str, kind: ColumnType, given: Sequence[Any], rows: Ints) -> pa.Array:
        parts: list[list[Any]] = [[] for _ in kind.fields]
        is_there = np.zeros(len(given), np.bool_)
        for at, value in enumerate(given):
            elements = _elements(kind, value)
            is_there[at] = elements is not None
            if elements is None and value is not None and value is not MISSING:
                self._refuse(rows[at], _no_such(path, kind, value))
            for part, each in zip(parts, elements or [MISSING] * len(parts), strict=True):
                part.append(each)
        columns = [
            self.read(f"{path}.{name}", each, part, rows)
            for (name, each), part in zip(kind.fields, parts, strict=True)
        ]
        return tuples_of(kind, columns, is_there)

    def _lists(
        self, path: str, kind: ColumnType, element: ColumnType, given: Sequence[Any], rows: Ints
    ) -> pa.Array:
        items: list[Any] = []
        ends, is_null = [0], []
        for at, value in enumerate(given):
            is_object = kind.base == "Map" and isinstance(value, dict)
            if is_object or isinstance(value, list):
                items += value.items() if is_object else value
            elif value is not None and value is not MISSING:
                self._refuse(rows[at], _no_such(path, kind, value))
            is_null.append(not is_object and not isinstance(value, list))
            ends.append(len(items))
        values = self.read(path, element, items, np.repeat(rows, np.diff(ends)))
        mask = pa.array(is_null) if any(is_null) else None
        lists = pa.LargeListArray.from_arrays(
            pa.array(ends, pa.int64()), values, type=kind.arrow, mask=mask
        )
        for at in np.flatnonzero(repeated_keys(kind, lists)).tolist():
            self._refuse(rows[at], f"{path}: a key is there twice")
        return lists

    def _refuse(self, row: Any, why: str) -> None:
        self.reasons.setdefault(int(row), why)


def _elements(kind: ColumnType, value: Any) -> list[Any] | None:
    """Returns the elements of a Tuple; None if the value is none."""
    if isinstance(value, dict) and kind.is_named:
        return [value.get(name, MISSING) for name, _ in kind.fields]
    if isinstance(value, list | tuple) and len(value) == len(kind.fields):
        return list(value)
    return None


def _no_such(path: str, kind: ColumnType, value: Any) -> str:
    return f"{path}: {value!r:.{_SHOWN_MAX}} is no {kind.name}"


def placed(
    kind: ColumnType, parts: Sequence[tuple[Sequence[int], pa.Array]], count: int
) -> pa.Array:
    """Returns parts of a column's values at their places, and null elsewhere."""
    if len(parts) == 1 and len(parts[0][0]) == count:
        return parts[0][1]
    if not parts:
        return pa.nulls(count, kind.arrow)
    which = np.concatenate([np.asarray(each, np.int64) for each, _ in parts])
    index = np.zeros(count, np.int64)
    index[which] = np.arange(len(which))
    is_null = np.ones(count, np.bool_)
    is_null[which] = False
    values = pa.concat_arrays([each for _, each in parts])
    return values.take(pa.array(index, mask=is_null))
