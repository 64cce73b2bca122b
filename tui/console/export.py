"""Export: a view as CSV or JSON, and the screen as SVG, in files."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tui.console.built_page import BuiltPage
from tui.console.plain import plain
from tui.pages.page import Cell, Column

UNKNOWN = "?"
DIGIT = re.compile(r"\d")
FORMULA = ("=", "+", "-", "@")
OWN_SIGN = re.compile(r"-|[-+][\d.,]+[kMGT]?(/s)?")
"""Texts with a sign that are no formula: numbers, changes, and the - for none."""
FONT_FACE = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)


def as_csv(page: BuiltPage) -> str:
    """Returns the shown rows of all sections as CSV; sections are named in the first column."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for each in page.sections:
        writer.writerow(["section", *(column.title for column in each.section.columns), "why"])
        for at in range(len(each.order)):
            row = each.row(at)
            cells = [in_sheet(cell.text) for cell in row.cells]
            writer.writerow([each.section.name, *cells, in_sheet(row.why)])
    return text.getvalue()


def as_json(page: BuiltPage) -> str:
    """Returns the shown rows by section as JSON: numbers in full, unknown as null."""
    sections = {
        each.section.name: [
            {
                **{
                    column.title: value_of(cell, column)
                    for column, cell in zip(each.section.columns, row.cells, strict=True)
                },
                "why": plain(row.why) or None,
            }
            for row in (each.row(at) for at in range(len(each.order)))
        ]
        for each in page.sections
    }
    found = {"title": plain(page.title), "at": page.now, "sections": sections}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def in_sheet(text: str) -> str:
    """Returns a text of a CSV file; a spreadsheet takes one that begins with = for a formula."""
    safe = plain(text)
    return f"'{safe}" if safe.startswith(FORMULA) and not OWN_SIGN.fullmatch(safe) else safe


def value_of(cell: Cell, column: Column) -> float | str | None:
    """Returns the value of a cell: a number where its column has numbers, else its text."""
    if cell.text == UNKNOWN:
        return None
    value = cell.sort
    is_number = isinstance(value, int | float) and math.isfinite(value) and DIGIT.search(cell.text)
    if not column.is_right or not is_number:
        return plain(cell.text)
    assert isinstance(value, int | float)
    return value if column.unit == 1.0 else value / column.unit


def without_fonts(svg: str) -> str:
    """Returns the SVG without its fonts, which name addresses of other hosts."""
    return FONT_FACE.sub("", svg)


def file_name(screen: str, now: float, suffix: str) -> str:
    """Returns the name of an exported file: sluice-routes-20261121-140231.csv."""
    at = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d-%H%M%S")
    return f"sluice-{screen}-{at}.{suffix}"


def written(folders: Sequence[Path], name: str, text: str) -> Path:
    """Writes a new file into the first folder that takes it, and returns its path.

    Raises:
        OSError: no folder takes it.
    """
    error: OSError = FileNotFoundError("no folder to write to")
    for folder in folders:
        for number in range(1, 100):
            stem, _, suffix = name.rpartition(".")
            path = folder / (name if number == 1 else f"{stem}-{number}.{suffix}")
            try:
                with path.open("x", encoding="utf-8") as file:
                    file.write(text)
            except FileExistsError:
                continue
            except OSError as found:
                error = found
                break
            return path
    raise error
