"""Text of commands: pages as tables and lines, and the cells that several commands share.

A table has one row on each line, however wide it becomes, and no colors: it can be piped through
grep. Unprintable characters in texts from Kafka are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from replicator.runtime.plain_text import one_line
from tui.facts.moments import UNKNOWN, iso_text, iso_zulu_text

if TYPE_CHECKING:
    from replicator.notices.condition import Condition
    from tui.pages.page import Column, Row, Section


def page_text(sections: Iterable[Section], remarks: Iterable[str] = ()) -> str:
    """Formats sections of a page, one below the other, with remarks below them.

    A section without rows is the line that says why there are none.
    """
    parts = [section_text(each) for each in sections]
    if lines := joined(remarks):
        parts.append(lines)
    return "\n\n".join(part for part in parts if part)


def section_text(section: Section) -> str:
    """Formats a section as a table, with its heading above it; numbers with all their digits."""
    lines = [section.heading] if section.heading else []
    if section.rows:
        lines.append(_aligned(section.columns, section.rows))
    elif section.empty:
        lines.append(one_line(section.empty))
    return "\n".join(lines)


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Formats a table: columns as wide as their widest cell, numbers to the right, None as ?."""
    body = list(rows)
    numbers = [any(isinstance(row[at], int | float) for row in body) for at, _ in enumerate(heads)]
    return _grid(heads, numbers, [[_cell(cell) for cell in row] for row in body])


def joined(lines: Iterable[str]) -> str:
    """Joins lines with newlines, and escapes the unprintable characters of each."""
    return "\n".join(map(one_line, lines))


def decimals(number: float | None) -> str | None:
    """Formats a number with three digits after the point; None stays None."""
    return None if number is None else f"{number:.3f}"


def instant(at_ms: int | None) -> str | None:
    """Formats a Unix time as 2026-11-22T03:00:00Z; None stays None."""
    if at_ms is None:
        return None
    text = iso_zulu_text(at_ms)
    return f"{at_ms} ms" if text == UNKNOWN else text


def condition_line(condition: Condition) -> str:
    """Returns a condition as a line: what it is about, since when it holds, who says so."""
    topic, partition = condition.topic, condition.partition
    place = topic if partition is None else f"{topic}-{partition}"
    about = " ".join(filter(None, (condition.route, condition.feed, condition.cluster, place)))
    told = ": ".join(filter(None, (condition.kind, about, condition.text)))
    return f"{told} (since {iso_text(condition.since_ms)}, says {condition.who})"


def _cell(value: Any) -> str:
    if value is None:
        return "?"
    return f"{value:.1f}" if isinstance(value, float) else one_line(str(value))


def _aligned(columns: Sequence[Column], rows: Iterable[Row]) -> str:
    return _grid(
        [column.title for column in columns],
        [column.is_right for column in columns],
        [[one_line(cell.full or cell.text) for cell in row.cells] for row in rows],
    )


def _grid(heads: Sequence[str], is_right: Sequence[bool], rows: Iterable[Sequence[str]]) -> str:
    # Imported here, because every start of the program would pay for it.
    from rich.cells import cell_len

    lines = [heads, *rows]
    widths = [max(cell_len(line[at]) for line in lines) for at in range(len(heads))]
    text = []
    for line in lines:
        cells = []
        for cell, width, right in zip(line, widths, is_right, strict=True):
            space = " " * (width - cell_len(cell))
            cells.append(f"{space}{cell}" if right else f"{cell}{space}")
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)
