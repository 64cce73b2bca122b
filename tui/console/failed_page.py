"""Page in place of one that raised an error: a line with the error, while the console goes on.

Odd values of other programs should never end the console; this is what is left when one gets by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.console.page import NO_FOCUS, Action, Cell, Column, Focus, Page, Row, Section

if TYPE_CHECKING:
    from tui.state.snapshot import Snapshot

COLUMNS = (Column("ERROR", 40, "a mistake of the console; the values of servers caused it"),)


@dataclass(frozen=True, slots=True)
class FailedPage:
    """Page that says why another one cannot be shown.

    Args:
        name: of the screen.
        error: as text.
    """

    name: str
    error: str

    def title(self, snapshot: Snapshot) -> str:
        """Returns the name of the screen."""
        return f"{self.name}   cannot be shown"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns a table without rows, so that the cursor of the page is kept."""
        return (Section("error", COLUMNS, (), empty=self.error),)

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns none."""
        return None

    def actions(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[Action]:
        """Returns none."""
        return ()

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns none."""
        return ()

    def focus(self) -> Focus:
        """Returns none."""
        return NO_FOCUS


def error_text(error: Exception) -> str:
    """Returns an error as text, for the operator to report."""
    return f"cannot be shown, please report it: {type(error).__name__}: {error}"


def failed_row(key: str, columns: int, error: Exception) -> Row:
    """Returns a row in place of one that could not be made; its why is the error."""
    cells = (Cell("!", "bad"),) * columns
    return Row(key, cells, is_fault=True, why=error_text(error))
