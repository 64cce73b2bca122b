"""Table of a page by Textual's line API: only the visible rows are made and drawn."""

from __future__ import annotations

from dataclasses import replace

from textual import events
from textual.message import Message

from tui.console.built_page import BuiltPage
from tui.console.line_widget import LineWidget
from tui.console.navigation import Navigation
from tui.console.styled_text import StyledLine, styled_column
from tui.console.table_drawing import drawn
from tui.console.table_layout import Lines, lines_of, scrolled
from tui.console.view_state import ViewState
from tui.pages.page import Row

WHEEL_LINES = 3


class LineTable(LineWidget):
    """Table of a built page, with a cursor that follows its row's key.

    Args:
        navigation: takes the view at once when the cursor moves, before any other message is
            handled, or the next page would be shown without the move; None: nobody needs it.
    """

    class Moved(Message):
        """The cursor is on another row, or the row was clicked once more (`is_opened`)."""

        def __init__(self, is_opened: bool = False) -> None:
            super().__init__()
            self.is_opened = is_opened

    def __init__(
        self,
        id: str | None = None,  # noqa: A002 - Textual's name
        navigation: Navigation | None = None,
    ) -> None:
        super().__init__(id=id)
        self._navigation = navigation
        self.view: ViewState | None = None
        self.page: BuiltPage | None = None
        self._layout = Lines(())
        self._text: list[StyledLine] = []

    def show_text(self, text: str) -> None:
        """Shows a text instead of a page."""
        self.page, self.view = None, None
        self._layout = Lines(())
        self._text = [(styled_column(f" {text}", max(1, self.size.width), "dim"),)]
        self.show_lines(self._text)

    def show_page(self, page: BuiltPage, view: ViewState) -> None:
        """Shows a page as a view state says; it is kept up to date from here on."""
        self.page, self._layout = page, lines_of(page)
        row = page.cursor_at(view.cursor, view.cursor_at)
        newest = page.newest_at() if view.is_following else None
        if view.is_at_start:
            row = page.start_at()
            # Enter must open the row that was read: later ones do not draw the cursor away.
            view = replace(view, is_at_start=not page.has_answers)
        self._place(view, row if newest is None else newest)
        self._keep(self.view)

    @property
    def cursor_row(self) -> Row | None:
        """Row under the cursor."""
        if self.page is None or self.view is None:
            return None
        return self.page.row(self.view.cursor_at)

    @property
    def position(self) -> tuple[int, int]:
        """Number of the cursor's row, from 1, and of all shown rows."""
        if self.page is None or self.view is None or not self.page.row_count:
            return 0, 0
        return self.view.cursor_at + 1, self.page.row_count

    def move(self, rows: int) -> None:
        """Moves the cursor down by some rows, or up where negative."""
        if self.view is not None:
            self.move_to(self.view.cursor_at + rows)

    def move_to(self, row: int) -> None:
        """Moves the cursor to a row, or to the nearest there is; on the newest it follows."""
        if self.page is None or self.view is None or not self.page.row_count:
            return
        row = max(0, min(row, self.page.row_count - 1))
        is_following = row == self.page.newest_at()
        if row != self.view.cursor_at or is_following != self.view.is_following:
            view = replace(
                self.view,
                cursor=self.page.cursor(row),
                is_at_start=False,
                is_following=is_following,
            )
            self._place(view, row)
            self._keep(self.view)
            self.post_message(self.Moved())

    def move_page(self, pages: int) -> None:
        """Moves the cursor by windows of the terminal."""
        self.move(pages * max(1, self.size.height - 2))

    def _place(self, view: ViewState, row: int) -> None:
        top = scrolled(self._layout, view.top, self.size.height, row)
        cursor = view.cursor
        if self.page is not None and self.page.row_count:
            cursor = self.page.cursor(row)
        self.view = replace(view, cursor=cursor, cursor_at=max(0, row), top=top)
        self._draw()

    def _keep(self, view: ViewState | None) -> None:
        if self._navigation is not None and view is not None:
            self._navigation.current = view

    def _draw(self) -> None:
        if self.page is None or self.view is None:
            self.show_lines(self._text)
            return
        view = self.view
        self.show_lines(
            drawn(
                self._layout,
                view.top,
                self.size.height,
                self.size.width,
                view.cursor_at,
                view.is_wide,
                view.shift,
            )
        )

    def on_resize(self, _: events.Resize) -> None:
        """Draws for the new size."""
        if self.view is not None:
            self._place(self.view, self.view.cursor_at)
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Moves the cursor to the clicked row; a second click opens it."""
        row = None
        if self.view is not None:
            row = self._layout.row_at(self.view.top + event.y)
        if row is None or self.view is None:
            return
        if row == self.view.cursor_at:
            self.post_message(self.Moved(is_opened=True))
        else:
            self.move_to(row)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Moves the cursor down."""
        event.stop()
        self.move(WHEEL_LINES)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Moves the cursor up."""
        event.stop()
        self.move(-WHEEL_LINES)
