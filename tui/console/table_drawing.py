"""Lines of a table as pieces: headings, column titles, rows."""

from __future__ import annotations

from collections.abc import Sequence

from tui.console.built_page import BuiltSection
from tui.console.styled_text import StyledLine, StyledText, styled_column
from tui.console.table_layout import GAP, MARGIN, Line, Lines, Span, fitting
from tui.pages.page import Column, Row

CURSOR = "›"
FALLING, RISING = "▼", "▲"


def drawn(
    lines: Lines,
    top: int,
    height: int,
    width: int,
    cursor: int,
    is_wide: bool = False,
    shift: int = 0,
) -> list[StyledLine]:
    """Returns the visible lines of a page.

    Args:
        top: first line; column titles above it stay visible.
        cursor: place of the cursor among all rows; -1: none.
    """
    found: list[StyledLine] = []
    layouts: dict[str, list[tuple[int, int]]] = {}
    for line in range(top, min(top + height, lines.count)):
        at = lines.at(line)
        assert at is not None
        kind, span, place = at
        section = span.section
        layout = layouts.setdefault(
            section.section.name,
            fitting(section.section.columns, width, is_wide, shift),
        )
        if line == top and kind in (Line.ROW, Line.EMPTY, Line.MORE):
            kind = Line.TITLES
        found.append(_line(kind, span, place, layout, width, cursor))
    return found


def _line(
    kind: Line, span: Span, place: int, layout: Sequence[tuple[int, int]], width: int, cursor: int
) -> StyledLine:
    section = span.section
    if kind is Line.HEADING:
        return (styled_column(f" {section.section.heading}", width, "heading"),)
    if kind is Line.TITLES:
        return titles_line(section, layout, width)
    if kind is Line.EMPTY:
        return (styled_column(f" {empty_text(section)}", width, "dim"),)
    if kind is Line.MORE:
        return (styled_column(f" {section.hidden} more rows", width, "dim"),)
    row = section.row(place)
    is_cursor = span.rows_before + place == cursor
    return row_line(row, section.section.columns, layout, width, is_cursor)


def empty_text(section: BuiltSection) -> str:
    """Returns the text in place of rows."""
    if section.filtered:
        return f"none of {section.filtered} rows is shown: esc clears the filter"
    return section.section.empty


def titles_line(section: BuiltSection, layout: Sequence[tuple[int, int]], width: int) -> StyledLine:
    """Returns the column titles; the one sorted by has an arrow where there is room."""
    first = section.sorted_by[0] if section.sorted_by else ""
    is_falling = first.startswith("-") != section.is_reversed
    pieces = [styled_column("", MARGIN, "titles")]
    for number, (at, size) in enumerate(layout):
        column = section.section.columns[at]
        title = column.title
        if title == first.removeprefix("-") and len(title) < size:
            arrow = FALLING if is_falling else RISING
            title = f"{arrow}{title}" if column.is_right else f"{title}{arrow}"
        pieces += [styled_column("", GAP, "titles")] if number else []
        pieces.append(styled_column(title, size, "titles", column.is_right))
    return _filled(pieces, layout, width, "titles")


def row_line(
    row: Row,
    columns: Sequence[Column],
    layout: Sequence[tuple[int, int]],
    width: int,
    is_cursor: bool,
) -> StyledLine:
    """Returns a row; the cursor's is marked, and in one tone."""
    pieces = [styled_column(CURSOR if is_cursor else "", MARGIN, "cursor" if is_cursor else "")]
    for number, (at, size) in enumerate(layout):
        cell = row.cells[at]
        pieces += [styled_column("", GAP, "cursor" if is_cursor else "")] if number else []
        tone = "cursor" if is_cursor else cell.tone
        pieces.append(styled_column(cell.text, size, tone, columns[at].is_right))
    return _filled(pieces, layout, width, "cursor" if is_cursor else "")


def _filled(
    pieces: list[StyledText], layout: Sequence[tuple[int, int]], width: int, tone: str
) -> StyledLine:
    used = MARGIN + sum(size for _, size in layout) + GAP * max(0, len(layout) - 1)
    return (*pieces, styled_column("", max(0, width - used), tone))
