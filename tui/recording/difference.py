"""Difference of two frames, column by column.

A change is None for an unchanged column, or one of:

["=", values]           the whole column
["+", numbers]          integers: differences to the former ones
[".", places, values]   few changed values

A table whose rows are others than before also has `rows`: for each row, the place of the same row
in the former table, or -1. Events move down one place with each new one; so they are not written
anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress, count
from operator import ne
from typing import Any

from tui.recording.tables import Column, Damaged, Table, Tables, whole_number_columns

FEW_PART = 4
"""Values are written one by one when no more than one of so many has changed."""
# fmt: off
IDENTIFYING = frozenset([
    "server", "about", "region", "role", "route", "topic", "partition", "kind", "name", "group",
    "key", "event_id", "plan_id", "feed", "cluster", "number", "table", "stream",
])
# fmt: on
"""Fields that together tell rows of a table apart. Two rows that agree in them do no harm."""
NEW = -1

Change = list[Any]


def difference(former: Tables, tables: Tables) -> dict[str, Any]:
    """Returns the tables that changed, as plain values."""
    found = {path: _of_table(path, former.get(path, {}), table) for path, table in tables.items()}
    return {path: each for path, each in found.items() if each}


def applied(former: Tables, changes: Mapping[str, Any]) -> Tables:
    """Returns the tables that `difference` compared with the former ones. Raises Damaged."""
    tables = dict(former)
    try:
        for path, change in changes.items():
            tables[path] = _applied(former.get(path, {}), change)
    except (IndexError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise Damaged(f"a difference does not fit the frame before it: {error!r}") from None
    return tables


def _of_table(path: str, former: Table, table: Table) -> dict[str, Any]:
    rows = _same_rows(former, table)
    whole_numbers = whole_number_columns(path)
    changes = {}
    for name, column in table.items():
        before = former.get(name)
        if before is not None and rows is not None:
            before = _taken(before, rows)
        change = _of_column(before, column, name in whole_numbers)
        if change is not None:
            changes[name] = change
    if rows is not None:
        return {"rows": rows, "columns": changes}
    return {"columns": changes} if changes else {}


def _same_rows(former: Table, table: Table) -> list[int] | None:
    """Returns the former place of each row; None when the rows are the same as before."""
    names = [name for name in table if name in IDENTIFYING and name in former]
    if not names or all(former[name] == table[name] for name in names):
        return None
    places = dict(zip(zip(*(former[name] for name in names), strict=True), count()))
    return [places.get(row, NEW) for row in zip(*(table[name] for name in names), strict=True)]


def _taken(column: Column, rows: Sequence[int]) -> Column:
    return [None if place == NEW else column[place] for place in rows]


def _of_column(before: Column | None, column: Column, is_whole_numbers: bool) -> Change | None:
    if before is None or len(before) != len(column):
        return ["=", column]
    if before == column:
        return None
    places = list(compress(count(), map(ne, before, column)))
    if len(places) * FEW_PART <= len(column):
        return [".", places, [column[place] for place in places]]
    if is_whole_numbers:
        pairs = zip(before, column, strict=True)
        return ["+", [new if old is None or new is None else new - old for old, new in pairs]]
    return ["=", column]


def _applied(former: Table, change: Mapping[str, Any]) -> Table:
    rows = change.get("rows")
    table = {
        name: column if rows is None else _taken(column, rows) for name, column in former.items()
    }
    for name, each in change["columns"].items():
        table[name] = _changed(table.get(name, []), each)
    return table


def _changed(before: Column, change: Change) -> Column:
    match change:
        case ["=", values]:
            return list(values)
        case ["+", numbers]:
            pairs = zip(before, numbers, strict=True)
            return [new if old is None or new is None else old + new for old, new in pairs]
        case [".", places, values]:
            column = list(before)
            for place, value in zip(places, values, strict=True):
                column[place] = value
            return column
        case _:
            raise ValueError(f"unknown change {change[:1]}")
