"""Layout of a table on a terminal: which columns there is room for, and which line shows what."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tui.console.built_page import BuiltPage, BuiltSection
from tui.pages.page import Column

GAP = 2
"""Blanks between two columns."""
MARGIN = 1
"""Blanks before the first column."""


def fitting(
    columns: Sequence[Column], width: int, is_wide: bool = False, shift: int = 0
) -> list[tuple[int, int]]:
    """Returns (place, width) of each column that is shown on a terminal of `width` cells.

    The columns with the highest priority number are left out first, of these the last; those of
    priority 0 never are. `shift` leaves out as many of the others from the left, so that a wide
    view can be moved along.
    """
    fixed = [at for at, column in enumerate(columns) if column.priority == 0]
    others = [
        at
        for at, column in enumerate(columns)
        if column.priority != 0 and not column.is_printed_only
    ]
    others = others[min(shift, max(0, len(others) - 1)) :]
    wanted = [at for at in others if is_wide or not columns[at].is_wide]
    extra = [at for at in others if at not in wanted]
    shown = sorted(fixed + wanted)
    if is_wide:
        while wanted and _needed(columns, shown) > width:
            shown.remove(wanted.pop())
    else:
        for at in sorted(wanted, key=lambda at: (-columns[at].priority, -at)):
            if _needed(columns, shown) <= width:
                break
            shown.remove(at)
        if len(shown) == len(fixed) + len(wanted):
            for at in sorted(extra, key=lambda at: (columns[at].priority, at)):
                if _needed(columns, [*shown, at]) <= width:
                    shown = sorted([*shown, at])
    return _grown(columns, shown, width)


def _needed(columns: Sequence[Column], shown: Sequence[int]) -> int:
    return MARGIN + sum(columns[at].width for at in shown) + GAP * (len(shown) - 1)


def _grown(columns: Sequence[Column], shown: list[int], width: int) -> list[tuple[int, int]]:
    """Returns the widths, with the room that is left given to columns that grow."""
    widths = {at: columns[at].width for at in shown}
    left = width - _needed(columns, shown)
    growing = [at for at in shown if columns[at].grows]
    for turn, at in enumerate(growing):
        widths[at] += max(0, left) // len(growing) + (turn < max(0, left) % len(growing))
    # A terminal narrower than the columns that always stay: the widest give way.
    while left < 0 and max(widths.values(), default=0) > 1:
        widest = max(widths, key=widths.__getitem__)
        widths[widest] -= 1
        left += 1
    return list(widths.items())


class Line(Enum):
    """Kinds of lines."""

    HEADING = "heading"
    TITLES = "titles"
    ROW = "row"
    EMPTY = "empty"
    MORE = "more"


@dataclass(frozen=True, slots=True)
class Span:
    """Lines of one section.

    Args:
        begin: first line.
        heading: number of heading lines, 0 or 1.
        rows_before: rows of the sections above.
    """

    section: BuiltSection
    begin: int
    heading: int
    rows_before: int

    @property
    def titles_line(self) -> int:
        return self.begin + self.heading

    @property
    def first_row_line(self) -> int:
        return self.titles_line + 1

    @property
    def end(self) -> int:
        """Line after the last."""
        count = len(self.section.order)
        return self.first_row_line + max(1, count) + (1 if self.section.hidden else 0)


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a page."""

    spans: tuple[Span, ...]

    @property
    def count(self) -> int:
        return self.spans[-1].end if self.spans else 0

    def span(self, line: int) -> Span | None:
        """Returns the section that a line belongs to."""
        at = bisect_right([span.begin for span in self.spans], line) - 1
        return self.spans[at] if at >= 0 and line < self.spans[at].end else None

    def at(self, line: int) -> tuple[Line, Span, int] | None:
        """Returns kind, section and place of the row in the section; None below the last line."""
        span = self.span(line)
        if span is None:
            return None
        count = len(span.section.order)
        place = line - span.first_row_line
        if line < span.titles_line:
            return Line.HEADING, span, 0
        if place < 0:
            return Line.TITLES, span, 0
        if place < count:
            return Line.ROW, span, place
        return (Line.EMPTY if not count and place == 0 else Line.MORE), span, 0

    def line_of(self, row: int) -> int:
        """Returns the line of the row `row` among all rows."""
        for span in reversed(self.spans):
            if row >= span.rows_before:
                return span.first_row_line + min(
                    row - span.rows_before, max(0, len(span.section.order) - 1)
                )
        return 0

    def row_at(self, line: int) -> int | None:
        """Returns the place among all rows of the row on a line; None on other lines."""
        found = self.at(line)
        return found[1].rows_before + found[2] if found and found[0] is Line.ROW else None


def lines_of(page: BuiltPage) -> Lines:
    """Returns the lines of a page."""
    spans: list[Span] = []
    begin = rows = 0
    for each in page.sections:
        span = Span(each, begin, 1 if each.section.heading else 0, rows)
        spans.append(span)
        begin, rows = span.end, rows + len(each.order)
    return Lines(tuple(spans))


def scrolled(lines: Lines, top: int, height: int, row: int) -> int:
    """Returns the first line to show so that the row is visible below its column titles.

    Args:
        top: first line shown before.
        height: lines of the terminal's window.
    """
    if height <= 0 or not lines.count:
        return 0
    line = lines.line_of(row)
    span = lines.span(line)
    above = 1 if span is not None and line >= span.first_row_line else 0
    if row == 0:
        return 0
    first = max(0, line - height + 1)
    last = max(0, line - above)
    if span is not None and line == span.first_row_line:
        last = max(0, line - 1 - span.heading)
    top = max(first, min(top, last))
    return max(0, min(top, lines.count - height))
