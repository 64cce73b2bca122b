"""Rows of a long table: made only when looked at."""

from tui.pages.page import Cell, Column, Row
from tui.pages.rows import LazyRows, faults_of, keys_of, sorts_of, texts_of


def made(count: int = 10):
    calls: list[int] = []

    def make(item: int) -> Row:
        calls.append(item)
        return Row(str(item), (Cell(str(item), sort=item),))

    rows = LazyRows(
        items=range(count),
        make=make,
        key=str,
        sorts={"N": lambda item: -item},
        is_fault=lambda item: item == 3,
        text=lambda item: f"number {item}",
    )
    return rows, calls


def test_sorting_and_filtering_make_no_row():
    rows, calls = made()
    assert keys_of(rows)[:2] == ["0", "1"]
    assert sorts_of(rows, "N", 0)[9] == -9
    assert faults_of(rows).index(True) == 3
    assert texts_of(rows, ())[4] == "number 4"
    assert calls == []


def test_only_the_row_looked_at_is_made():
    rows, calls = made(10_000)
    assert rows[7].key == "7"
    assert [row.key for row in rows[2:4]] == ["2", "3"]
    assert calls == [7, 2, 3]
    assert len(rows) == len(list(rows)) == 10_000


def test_plain_rows_give_the_same():
    rows = [Row("a", (Cell("x", sort="x"),), is_fault=True, why="w"), Row("b", (Cell("y"),))]
    assert keys_of(rows) == ["a", "b"]
    assert faults_of(rows) == [True, False]
    assert texts_of(rows, (Column("X", 1),)) == ["x w", "y "]
    assert sorts_of(rows, "X", 0) == ["x", None]


def test_a_filter_looks_through_what_is_drawn():
    columns = Column("X", 1), Column("KEY", 3, is_printed_only=True)
    assert texts_of([Row("a", (Cell("x"), Cell("key")), why="w")], columns) == ["x w"]
