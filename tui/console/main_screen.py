"""Main screen of the console: the screen of pages, whose keys run commands."""

from __future__ import annotations

from textual import events

from tui.console.console_commands import perform
from tui.console.keys import typed
from tui.console.line_table import LineTable
from tui.console.page_screen import PageScreen
from tui.console.steering_dialog import start_action


class MainScreen(PageScreen):
    """Main screen. Keys are looked up here, whatever they were remapped to."""

    def on_key(self, event: events.Key) -> None:
        """Does what the key is for."""
        if self.filter_input.has_focus:
            if event.key == "escape":
                event.stop()
                self.end_filter("")
            return
        pressed = event.character if event.is_printable and event.key != "space" else event.key
        event.stop()
        event.prevent_default()
        self.press(typed(pressed or event.key))

    def press(self, key: str) -> None:
        """Does what a key is for; a greyed one says why it does nothing."""
        self.notice("")
        for action, why in self.page_actions():
            if action.key == key:
                start_action(self, action, why)
                return
        name = self.keymap.name(key)
        if name is not None:
            perform(self, name)

    def on_line_table_moved(self, message: LineTable.Moved) -> None:
        """Shows what belongs to the new row, or opens it."""
        self.show_row()
        if message.is_opened:
            perform(self, "open")
