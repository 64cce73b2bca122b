"""Rows of a long table, made only when they are looked at.

A page of 10,000 partitions makes the rows that are drawn; sorting and filtering need only single
values of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from tui.pages.page import Cell, Column, Row, Sort

Item = TypeVar("Item")
Value = TypeVar("Value", bound=Sort)


@dataclass(frozen=True, slots=True)
class Shown(Generic[Item]):
    """Value and cell that a column shows of an item.

    Args:
        value: as Cell.sort, without the cell: all items are sorted, and few are drawn.
    """

    value: Callable[[Item], Sort]
    cell: Callable[[Item], Cell]


def shown_by(value: Callable[[Item], Value], cell: Callable[[Value], Cell]) -> Shown[Item]:
    """Returns what a column shows whose cell is made of the value that it sorts by."""
    return Shown(value, lambda item: cell(value(item)))


def sorts_by(shown: Mapping[str, Shown[Item]]) -> dict[str, Callable[[Item], Sort]]:
    """Returns the value that each column sorts by, by its title."""
    return {title: each.value for title, each in shown.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyRows(Sequence[Row], Generic[Item]):
    """Rows of items.

    Args:
        key: as Row.key.
        sorts: value that a column sorts by, by the column's title; as Cell.sort.
        text: text of names and words that `/` looks through.
    """

    items: Sequence[Item]
    make: Callable[[Item], Row]
    key: Callable[[Item], str]
    sorts: Mapping[str, Callable[[Item], Sort]]
    is_fault: Callable[[Item], bool]
    text: Callable[[Item], str]

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        if isinstance(at, slice):
            return [self.make(item) for item in self.items[at]]
        return self.make(self.items[at])

    def __iter__(self) -> Iterator[Row]:
        return map(self.make, self.items)


def keys_of(rows: Sequence[Row]) -> list[str]:
    """Returns the key of each row."""
    if isinstance(rows, LazyRows):
        return [rows.key(item) for item in rows.items]
    return [row.key for row in rows]


def faults_of(rows: Sequence[Row]) -> list[bool]:
    """Returns True for each row that is a fault."""
    if isinstance(rows, LazyRows):
        return [rows.is_fault(item) for item in rows.items]
    return [row.is_fault for row in rows]


def texts_of(rows: Sequence[Row], columns: Sequence[Column]) -> list[str]:
    """Returns the text of each row that a filter looks through.

    It is the cells of the columns on the screen, and the reason; of LazyRows their own text.
    """
    if isinstance(rows, LazyRows):
        return [rows.text(item) for item in rows.items]
    drawn = [at for at, column in enumerate(columns) if not column.is_printed_only]
    return [" ".join((*(row.cells[at].text for at in drawn), row.why)) for row in rows]


def sorts_of(rows: Sequence[Row], title: str, at: int) -> list[Sort]:
    """Returns the value that each row has for sorting by the column `title`, the `at`-th."""
    if isinstance(rows, LazyRows):
        value: Callable[[Any], Sort] = rows.sorts[title]
        return [value(item) for item in rows.items]
    return [row.cells[at].sort for row in rows]
