"""Text of views: tables, lines, and the cells that several views share.

A table has one row on each line, however wide it becomes, and no colors: it can be piped through
grep. Unprintable characters in texts from Kafka are escaped.
"""

import io
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from replicator.runtime.plain_text import one_line
from tui.facts.moments import UNKNOWN, iso_zulu_text

NONE = "-"
"""Cell for a value that does not exist; an unknown value is ?."""


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Formats a table: columns as wide as their widest cell, numbers to the right, None as ?."""
    # Imported here, because every start of the program would pay for it.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    body = list(rows)
    found = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column, head in enumerate(heads):
        is_number = any(isinstance(row[column], int | float) for row in body)
        found.add_column(Text(head), justify="right" if is_number else "left", no_wrap=True)
    for row in body:
        found.add_row(*(Text(_cell(cell)) for cell in row))
    text = io.StringIO()
    # A console assumes the width of the terminal, or 80 columns, and would cut the rows.
    Console(file=text, width=sys.maxsize, color_system=None).print(found)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def joined(lines: Iterable[str]) -> str:
    """Joins lines with newlines, and escapes the unprintable characters of each."""
    return "\n".join(map(one_line, lines))


def decimals(number: float | None, digits: int = 3) -> str | None:
    """Formats a number with that many digits after the point; None stays None."""
    return None if number is None else f"{number:.{digits}f}"


def instant(at_ms: int | None) -> str | None:
    """Formats a Unix time as 2026-11-22T03:00:00Z; None stays None."""
    if at_ms is None:
        return None
    text = iso_zulu_text(at_ms)
    return f"{at_ms} ms" if text == UNKNOWN else text


def _cell(value: Any) -> str:
    if value is None:
        return "?"
    return f"{value:.1f}" if isinstance(value, float) else one_line(str(value))
