"""Textual program of the console: shows pages of the snapshots that a source gives.

Only Textual, the standard library and light modules are imported here, so that the first frame is
drawn at once; a thread imports the rest while it is shown.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tui.console.built_page import BuiltPage
from tui.console.console_state import ConsoleState
from tui.console.main_screen import MainScreen
from tui.console.page_builder import PageBuilder, PageRequest
from tui.console.settings import ConsoleSettings
from tui.console.source import Opened, Opening
from tui.console.textual_internals import ContainedApp
from tui.console.themes import HIGH_CONTRAST
from tui.console.typed_keys import TypedKeys

if TYPE_CHECKING:
    from textual.driver import Driver

    from tui.facts.snapshot import Snapshot


class SnapshotCame(Message):
    """A new snapshot is there."""


class PageBuilt(Message):
    """A page was built."""

    def __init__(self, request: PageRequest, page: BuiltPage) -> None:
        super().__init__()
        self.request = request
        self.page = page


class OpenedCame(Message):
    """The source is there, or could not be made."""

    def __init__(self, opened: Opened | BaseException) -> None:
        super().__init__()
        self.opened = opened


class NoticeCame(Message):
    """A text for the operator, from another thread."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ConsoleApp(ContainedApp, inherit_bindings=False):
    """Console. Runs until the operator quits; `failure` is the error that ended it.

    Args:
        opening: loads the configuration and makes the source, in a thread.
        clock: Unix seconds.
        driver: of the terminal; None: Textual's.
    """

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "leave", show=False, priority=True)]
    CSS = "Screen { background: $background; color: $foreground; }"

    def __init__(
        self,
        settings: ConsoleSettings,
        opening: Opening,
        clock: Callable[[], float] = time.time,
        driver: type[Driver] | None = None,
    ) -> None:
        super().__init__(driver_class=driver)
        self.title = "sluice"
        self._builder = PageBuilder(self._page_was_built)
        self.state = ConsoleState(settings, clock, self._builder)
        self.main = MainScreen(self.state)
        self.keys = TypedKeys(self, self.main)
        self._opening = opening
        self._built_number = 0

    async def on_event(self, event: events.Event) -> None:
        """Gives keys their effects one after another; ctrl+c does not wait."""
        if isinstance(event, events.Key) and not event.is_forwarded and event.key != "ctrl+c":
            await self.keys.put(event)
        else:
            await super().on_event(event)

    # --- Start and end.

    def on_mount(self) -> None:
        """Shows the first frame, and starts what takes longer."""
        self.register_theme(HIGH_CONTRAST)
        if self.state.settings.theme is not None:
            self.theme = self.state.settings.theme
        self.push_screen(self.main)
        self._builder.start()
        threading.Thread(target=self._open, name="opening", daemon=True).start()
        self.set_interval(1.0, self.tick)

    def _open(self) -> None:
        try:
            self.post_message(OpenedCame(self._opening()))
        except BaseException as error:
            self.post_message(OpenedCame(error))

    def on_opened_came(self, message: OpenedCame) -> None:
        """Starts the source."""
        if isinstance(message.opened, BaseException):
            self.fail(message.opened)
            return
        self.state.start(message.opened, self._came)
        self.main.show_bars()

    def fail(self, error: BaseException) -> None:
        """Ends the console because of an error; the caller of `run` finds it in `failure`."""
        self.failure = self.failure or error
        self.exit(1)

    def tell(self, text: str) -> None:
        """Shows a text to the operator; any thread may call it."""
        self.post_message(NoticeCame(text))

    def on_notice_came(self, message: NoticeCame) -> None:
        """Shows a text of another thread."""
        self.main.notice(message.text)

    def action_leave(self) -> None:
        """Leaves; the jobs go on."""
        self.exit(0)

    def close_parts(self) -> None:
        """Ends threads and clients. To be called after `run`."""
        self._builder.close()
        self.state.close()

    # --- Snapshots.

    def _came(self, snapshot: Snapshot) -> None:
        """Takes a snapshot from the source's thread."""
        self.state.came(snapshot)
        self.post_message(SnapshotCame())

    def on_snapshot_came(self, _: SnapshotCame) -> None:
        """Shows the newest snapshot, unless the view is frozen."""
        if self.state.take_newest():
            self.main.request_page()

    def tick(self) -> None:
        """Shows the time, and has the page made anew where it shows ages."""
        if not self.main.is_composed:
            return
        self.main.show_top()
        if self.state.is_page_old:
            self.main.request_page()

    # --- Pages.

    @property
    def is_drawn(self) -> bool:
        """True when the page that was requested last is shown, and no key is on its way."""
        return self._built_number == self.state.requests and not self.keys.is_busy

    def _page_was_built(self, request: PageRequest, page: BuiltPage) -> None:
        self.post_message(PageBuilt(request, page))

    def on_page_built(self, message: PageBuilt) -> None:
        """Shows a page, unless another one was requested since."""
        request, view = message.request, self.state.navigation.current
        if request.view.page != view.page or not self.main.is_composed:
            return
        self._built_number = request.number
        # Not the view of the request: the cursor may have moved while the page was built.
        self.main.show_page(message.page, view)
