"""Screen of pages: top line, a page as a table, notes, the keys that do something."""

from __future__ import annotations

from asyncio import Event, timeout
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Input

from tui.console.bars import (
    Hint,
    TopFacts,
    hints,
    hints_line,
    page_line,
    replay_text,
    screens_line,
    top_line,
)
from tui.console.built_page import BuiltPage
from tui.console.console_state import ConsoleState
from tui.console.keys import Keymap
from tui.console.line_table import LineTable
from tui.console.line_widget import LineWidget
from tui.console.missing_rights import why_no_right
from tui.console.plain import wrapped
from tui.console.plain_input import PlainInput
from tui.console.styled_text import StyledLine, styled, styled_column
from tui.console.view_state import ViewState
from tui.pages.ages import data_age
from tui.pages.page import Action

if TYPE_CHECKING:
    from tui.console.settings import ConsoleSettings
    from tui.facts.snapshot import Snapshot

NOTES_PART = 3
"""Notes take at most one part of three of the screen's lines."""
AHEAD_SECONDS = 2.0
"""Time for which the next key waits at most for the page that a key has led to."""
STEER = "start the console with --steer"


def why_off(action: Action, snapshot: Snapshot, settings: ConsoleSettings) -> str | None:
    """Returns why an action of a page cannot be started; None when it can."""
    if action.why_off is not None or action.is_copied:
        return action.why_off
    if settings.is_replay:
        return "a replay changes nothing"
    refusal = why_no_right(action, snapshot)
    if refusal is not None:
        return refusal
    return STEER if action.changes and not settings.is_steering else None


class PageScreen(Screen[None]):
    """Screen that shows the page of a state. It knows the keys to show, and no command.

    Args:
        state: shared with the program, and with the commands that change it.
    """

    AUTO_FOCUS = ""
    CSS = """
    #top, #page, #screens, #hints { height: 1; }
    #table { height: 1fr; }
    #notes { height: 0; }
    #filter { padding: 0 1; display: none; }
    """

    def __init__(self, state: ConsoleState) -> None:
        super().__init__()
        self.state = state
        # Before it is mounted, a tick of the console may already draw it.
        self._notes_height = 0
        self._notice = ""
        self._page_came = Event()

    def compose(self) -> ComposeResult:
        """Yields the parts from top to bottom."""
        yield LineWidget(id="top")
        yield LineWidget(id="page")
        yield LineTable(id="table", navigation=self.state.navigation)
        yield LineWidget(id="notes")
        yield PlainInput(id="filter")
        yield LineWidget(id="screens")
        yield LineWidget(id="hints")

    @property
    def is_composed(self) -> bool:
        """True from the first frame on until the console ends."""
        return bool(self.query("#hints"))

    @property
    def table(self) -> LineTable:
        return self.query_one("#table", LineTable)

    @property
    def filter_input(self) -> PlainInput:
        return self.query_one("#filter", PlainInput)

    def on_mount(self) -> None:
        """Shows the frame without data."""
        self.call_after_refresh(self.request_page)

    def on_resize(self, _: events.Resize) -> None:
        """Draws all lines for the new size."""
        self.call_after_refresh(self._show_all)

    def _show_all(self) -> None:
        table = self.table
        if table.page is not None:
            self.show_page(table.page, self.state.navigation.current)
        else:
            self.request_page()

    # --- Showing.

    def request_page(self) -> None:
        """Has the current page made; `show_page` shows it."""
        if not self.state.request_page():
            self.show_waiting()

    def show_waiting(self) -> None:
        """Shows that there is no snapshot yet."""
        file = self.state.settings.file
        self.table.show_text(f"asking the servers of {file}; what answers is shown at once")
        self._show("page", (styled(" sluice", "heading"),))
        self.show_bars()

    def show_page(self, page: BuiltPage, view: ViewState) -> None:
        """Shows a page."""
        self.table.show_page(page, view)
        self._page_came.set()
        self.show_row()
        self.show_bars()

    def show_row(self) -> None:
        """Shows what belongs to the row under the cursor."""
        table = self.table
        if table.view is None or table.page is None:
            return
        width = self.size.width
        self._show("page", page_line(table.page, table.view, table.position, width))
        self._show_notes(table.page)
        self._show_hints()

    def _show_notes(self, page: BuiltPage) -> None:
        row, width = self.table.cursor_row, max(1, self.size.width - 2)
        texts = [f"why: {row.why}"] if row is not None and row.why else []
        texts += page.notes(row)
        lines = [line for text in texts for line in wrapped(text, width)]
        del lines[max(1, self.size.height // NOTES_PART) :]
        notes = self.query_one("#notes", LineWidget)
        # It only grows while a page is shown: a table that jumps with each key is hard to read.
        self._notes_height = max(self._notes_height, len(lines))
        notes.styles.height = self._notes_height
        notes.show_lines([(styled_column(f" {line}", width + 2),) for line in lines])

    def show_bars(self) -> None:
        """Shows the lines around the table."""
        navigation, width = self.state.navigation, self.size.width
        self.show_top()
        self._show("screens", screens_line(self.keymap, navigation.screen, width))
        self._show_hints()

    @property
    def keymap(self) -> Keymap:
        return self.state.settings.keymap

    def show_top(self) -> None:
        """Shows the top line."""
        state = self.state
        now = state.clock_shown()
        age, tone = "", ""
        if state.snapshot is not None:
            found = data_age(state.snapshot, now)
            age, tone = found.text, found.tone
        facts = TopFacts(
            file=state.settings.file,
            notice=replay_text(state.replay.state) if state.replay else "",
            mode=state.settings.mode,
            age=age,
            age_tone=tone,
            now=now,
            is_frozen=state.frozen_at is not None,
            problem=state.problem,
        )
        self._show("top", top_line(facts, self.keymap.key("help"), self.size.width))

    def notice(self, text: str) -> None:
        """Shows a text in place of the keys, until the next key."""
        if text != self._notice:
            self._notice = text
            self._show_hints()

    def _show_hints(self) -> None:
        width = self.size.width
        if self._notice:
            self._show("hints", (styled_column(f" {self._notice}", width, "on"),))
            return
        self._show("hints", hints_line(self._hints(), width))

    def _hints(self) -> list[Hint]:
        is_replay = self.state.settings.is_replay
        return hints(self.keymap, self.page_actions(), is_replay, self.can_open())

    def _show(self, name: str, line: StyledLine) -> None:
        self.query_one(f"#{name}", LineWidget).show_lines([line])

    # --- Actions of the page.

    def can_open(self) -> bool:
        """Returns True when enter leads somewhere."""
        page, row = self.table.page, self.table.cursor_row
        return page is not None and row is not None and page.opened(row) is not None

    def page_actions(self) -> Sequence[tuple[Action, str | None]]:
        """Returns the page's actions on the row, each with the reason why it is off."""
        table, settings = self.table, self.state.settings
        if table.page is None:
            return ()
        found = map(self.keymap.with_key, table.page.actions(table.cursor_row))
        return [(each, why_off(each, table.page.snapshot, settings)) for each in found]

    # --- View.

    async def page_shown(self) -> None:
        """Waits until the page is shown that the last key has led to, or an overlay is."""
        with suppress(TimeoutError):
            async with timeout(AHEAD_SECONDS):
                while self.is_active and not self._shows_current:
                    self._page_came.clear()
                    await self._page_came.wait()

    @property
    def _shows_current(self) -> bool:
        """True when the table shows the current view, wherever its cursor is."""
        found = self.table.view
        if self.state.snapshot is None:
            return True
        view = self.state.navigation.current
        if found is None or self.table.page is None:
            return False
        return view == replace(found, cursor=view.cursor, cursor_at=view.cursor_at, top=view.top)

    def changed(self, view: ViewState) -> None:
        """Shows the page as a changed view state says."""
        self.state.navigation.current = view
        self.request_page()

    def page_changed(self) -> None:
        """Shows another page."""
        self._notes_height = 0
        self.request_page()
        self.show_bars()

    # --- Filter.

    def begin_filter(self) -> None:
        """Opens the line in which a filter is typed."""
        entry = self.filter_input
        entry.value = self.state.navigation.current.filter
        entry.display = True
        entry.focus()

    def end_filter(self, text: str) -> None:
        """Closes that line, and applies the filter."""
        self.filter_input.display = False
        self.set_focus(None)
        self.changed(replace(self.state.navigation.current, filter=text))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Applies a filter while it is typed."""
        if event.input.id == "filter" and event.input.has_focus:
            self.changed(replace(self.state.navigation.current, filter=event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keeps the filter."""
        if event.input.id == "filter":
            self.end_filter(event.value)
