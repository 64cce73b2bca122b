"""Page of fixed lists that needs no snapshot: palette, help, search, an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.pages.page import Page, Section

if TYPE_CHECKING:
    from tui.facts.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ListPage(Page):
    """Fixed sections under a heading."""

    heading: str
    tables: tuple[Section, ...]
    name: str = "list"

    def title(self, snapshot: Snapshot) -> str:
        """Returns the heading."""
        return self.heading

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the sections."""
        return self.tables
