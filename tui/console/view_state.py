"""State of a view: a page with its cursor, filter and order, kept while other pages are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tui.pages.page import Page

NO_SORTS: Mapping[str, tuple[str, ...]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewState:
    """State of the view of one page.

    Args:
        cursor: (section, key of the row); None: the first row.
        cursor_at: place of the cursor among all rows, for when its row is gone.
        top: first line shown.
        filter: regular expression; a leading `!` inverts it.
        words: all of them have to be in a row that is shown.
        sorts: columns by which sections are sorted, by section, where not as the page says.
        reversed: sections shown in the opposite order.
        shift: columns left out at the left, in the wide view.
        is_at_start: the cursor is put where the page begins; until a server has answered.
        is_following: the cursor stays on the newest row, on a page that has one.
    """

    page: Page
    cursor: tuple[str, str] | None = None
    cursor_at: int = 0
    top: int = 0
    filter: str = ""
    words: tuple[str, ...] = ()
    is_faults_only: bool = False
    is_wide: bool = False
    sorts: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: NO_SORTS)
    reversed: frozenset[str] = frozenset()
    shift: int = 0
    is_at_start: bool = False
    is_following: bool = False

    def sorted_by(self, section: str, titles: tuple[str, ...]) -> ViewState:
        """Returns the state with a section sorted by columns."""
        return replace(self, sorts={**self.sorts, section: titles})

    def turned_round(self, section: str) -> ViewState:
        """Returns the state with the order of a section reversed."""
        return replace(self, reversed=self.reversed ^ {section})
