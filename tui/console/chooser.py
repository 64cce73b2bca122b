"""Chooser: a list over the screen, narrowed by typing; enter chooses a row."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from tui.console.built_page import built
from tui.console.line_table import LineTable
from tui.console.line_widget import LineWidget
from tui.console.list_page import ListPage
from tui.console.overlay import Overlay
from tui.console.plain_input import PlainInput
from tui.console.styled_text import styled_column
from tui.console.view_state import ViewState

MOVES = {"up": -1, "down": 1}
PAGES = {"pageup": -1, "pagedown": 1}
CHOOSE = "type to narrow   enter chooses   esc leaves"
LEAVE = "type to narrow   esc leaves"


class Chooser(Overlay[str | None]):
    """List of a page. Its result is the key of the chosen row; None for none.

    Args:
        hint: said below the list.
    """

    CSS = """
    Chooser { align: center middle; }
    #box { width: 96%; height: 90%; background: $background; border: solid $panel; }
    #heading, #hint { height: 1; }
    #choices { height: 1fr; }
    """

    def __init__(self, page: ListPage, hint: str) -> None:
        super().__init__()
        self._page, self._hint = page, hint

    def compose(self) -> ComposeResult:
        """Yields heading, input, list."""
        with Vertical(id="box"):
            yield LineWidget(id="heading")
            yield PlainInput("", id="typed")
            yield LineTable(id="choices")
            yield LineWidget(id="hint")

    def on_mount(self) -> None:
        """Begins in the input."""
        self.query_one("#typed", PlainInput).focus()
        # At once, for an enter that was typed ahead; its size is known only after the refresh.
        self._show()
        self.call_after_refresh(self._show)

    def on_resize(self, _: events.Resize) -> None:
        """Draws for the new size."""
        self.call_after_refresh(self._show)

    def on_input_changed(self, _: Input.Changed) -> None:
        """Narrows the list."""
        self._show()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Chooses the row under the cursor."""
        event.stop()
        self._choose()

    def on_line_table_moved(self, message: LineTable.Moved) -> None:
        """Chooses a row that was clicked once more."""
        message.stop()
        if message.is_opened:
            self._choose()

    def _choose(self) -> None:
        row = self._table.cursor_row
        self.dismiss(row.key if row is not None else None)

    def on_key(self, event: events.Key) -> None:
        """Moves in the list, or leaves."""
        if event.key in ("escape", "ctrl+p"):
            event.stop()
            self.dismiss(None)
        elif event.key in MOVES:
            event.stop()
            self._table.move(MOVES[event.key])
        elif event.key in PAGES:
            event.stop()
            self._table.move_page(PAGES[event.key])

    @property
    def _table(self) -> LineTable:
        return self.query_one("#choices", LineTable)

    def _show(self) -> None:
        words = self.query_one("#typed", PlainInput).value.split()
        view = ViewState(page=self._page, words=tuple(words))
        # The list needs no snapshot.
        self._table.show_page(built(view, None, 0.0), view)  # type: ignore[arg-type]
        for name, text, tone in (
            ("heading", self._page.heading, "heading"),
            ("hint", self._hint, "bar"),
        ):
            line = self.query_one(f"#{name}", LineWidget)
            line.show_lines([(styled_column(f" {text}", max(1, line.size.width), tone),)])
