"""Tables of a snapshot: all values of one kind together, a column for each of their fields.

Ten thousand partitions are some twenty long lists, not ten thousand small objects. So two snapshots
are compared list by list, and an unchanged field costs nothing.

A field that holds values of another dataclass, or a tuple of them, is a table of its own; its
column counts how many of that table's rows belong to each row, and None stands for None. Tables
are named by the path of fields that leads to them, such as `routes.topics.partitions.`; the
snapshot itself is the table "", with one row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from itertools import chain
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from tui.facts.snapshot import Snapshot

Column = list[Any]
Table = dict[str, Column]
Tables = dict[str, Table]


class Damaged(ValueError):
    """A frame is not as it was written. Show the frames before it; record anew."""


@dataclass(frozen=True, slots=True)
class Nested:
    """Field that is a table of its own.

    Args:
        kind: dataclass of the table's rows.
        is_single: the field holds one value, not a tuple.
    """

    name: str
    kind: type
    is_single: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """Fields of a dataclass: plain ones with their types, and tables."""

    leaves: Mapping[str, Any]
    nested: tuple[Nested, ...]


def to_tables(snapshot: Snapshot) -> Tables:
    """Returns the tables of a snapshot. The columns share its values; change none of them."""
    found: Tables = {}
    _take_apart([snapshot], Snapshot, "", found)
    return found


def from_tables(tables: Tables) -> Snapshot:
    """Returns the snapshot of these tables; raises Damaged.

    Columns of another version of the program are left out, and missing ones have their default.
    """
    try:
        (snapshot,) = _put_together(tables, Snapshot, "", 1)
    except (ValidationError, TypeError, ValueError) as error:
        raise Damaged(f"a frame does not fit together: {str(error).splitlines()[0]}") from None
    assert isinstance(snapshot, Snapshot)
    return snapshot


def whole_number_columns(path: str) -> frozenset[str]:
    """Returns the columns of a table that hold integers: differences of them are small."""
    kind = _kinds()[path]
    counts = {each.name for each in layout_of(kind).nested}
    return frozenset(
        name for name, hint in layout_of(kind).leaves.items() if _plain(hint) is int
    ) | frozenset(counts)


@cache
def layout_of(kind: type) -> Layout:
    """Returns the layout of a dataclass."""
    hints = get_type_hints(kind)
    nested = {each.name: _nested(each.name, hints[each.name]) for each in fields(kind)}
    return Layout(
        {each.name: hints[each.name] for each in fields(kind) if nested[each.name] is None},
        tuple(each for each in nested.values() if each is not None),
    )


@cache
def _kinds() -> dict[str, type]:
    return dict(_walk(Snapshot, ""))


def _walk(kind: type, path: str) -> Iterator[tuple[str, type]]:
    yield path, kind
    for each in layout_of(kind).nested:
        yield from _walk(each.kind, f"{path}{each.name}.")


def _nested(name: str, hint: Any) -> Nested | None:
    hint = _plain(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return Nested(name, hint, True)
    if get_origin(hint) is tuple:
        items = get_args(hint)
        is_series = len(items) == 2 and items[1] is Ellipsis
        if is_series and isinstance(items[0], type) and is_dataclass(items[0]):
            return Nested(name, items[0], False)
    return None


def _plain(hint: Any) -> Any:
    """Returns the type without None; the type as it is when that leaves several."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    others = [each for each in get_args(hint) if each is not NoneType]
    return others[0] if len(others) == 1 else hint


def _take_apart(rows: Sequence[Any], kind: type, path: str, found: Tables) -> None:
    layout = layout_of(kind)
    columns = {name: list(map(attrgetter(name), rows)) for name in layout.leaves}
    found[path] = columns
    for each in layout.nested:
        values = map(attrgetter(each.name), rows)
        parts = [(value,) for value in values] if each.is_single else list(values)
        if each.is_single:
            parts = [None if part == (None,) else part for part in parts]
        columns[each.name] = [None if part is None else len(part) for part in parts]
        children = list(chain.from_iterable(part for part in parts if part is not None))
        _take_apart(children, each.kind, f"{path}{each.name}.", found)


def _put_together(tables: Tables, kind: type, path: str, count: int) -> list[Any]:
    """Returns the rows of a table as values of its dataclass."""
    table, layout = tables.get(path, {}), layout_of(kind)
    columns: dict[str, Sequence[Any]] = {
        name: _parsed(table[name], hint) for name, hint in layout.leaves.items() if name in table
    }
    for each in layout.nested:
        if each.name in table:
            counts = _parsed(table[each.name], int | None)
            children = _put_together(
                tables, each.kind, f"{path}{each.name}.", sum(filter(None, counts))
            )
            columns[each.name] = _parted(children, counts, each.is_single)
    if any(len(column) != count for column in columns.values()):
        raise Damaged(f"columns of {path or 'the snapshot'} are not of one length")
    names = tuple(columns)
    rows = zip(*columns.values(), strict=True)
    return [kind(**dict(zip(names, row, strict=True))) for row in rows]


def _parted(children: Sequence[Any], counts: Sequence[int | None], is_single: bool) -> list[Any]:
    begin = 0
    parts: list[Any] = []
    for count in counts:
        if count is None:
            parts.append(None)
            continue
        own = children[begin : begin + count]
        parts.append(own[0] if is_single else tuple(own))
        begin += count
    return parts


def _parsed(column: Column, hint: Any) -> Column:
    """Returns the values with the types of their field; raises ValidationError."""
    return _parser(hint).validate_python(column)


@cache
def _parser(hint: Any) -> TypeAdapter[list[Any]]:
    return TypeAdapter(list[hint])
