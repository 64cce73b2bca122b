"""Page in place of one that raised an error: a line with the error, while the console goes on.

Odd values of other programs should never end the console; this is what is left when one gets by.
"""

from __future__ import annotations

from tui.console.list_page import ListPage
from tui.pages.page import Cell, Column, Row, Section

COLUMNS = (Column("ERROR", 40, "a mistake of the console; the values of servers caused it"),)


def failed_page(name: str, error: Exception) -> ListPage:
    """Returns the page that says why the page of a screen cannot be shown."""
    # Without rows, so that the cursor of the page is kept.
    table = Section("error", COLUMNS, (), empty=error_text(error))
    return ListPage(f"{name}   cannot be shown", (table,), name)


def error_text(error: Exception) -> str:
    """Returns an error as text, for the operator to report."""
    return f"cannot be shown, please report it: {type(error).__name__}: {error}"


def failed_row(key: str, columns: int, error: Exception) -> Row:
    """Returns a row in place of one that could not be made; its why is the error."""
    cells = (Cell("!", "bad"),) * columns
    return Row(key, cells, is_fault=True, why=error_text(error))
