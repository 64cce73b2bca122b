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
from tui.console.main_screen import MainScreen
from tui.console.navigation import Navigation
from tui.console.page_builder import PageBuilder, PageRequest
from tui.console.registry import first_page
from tui.console.settings import ConsoleSettings
from tui.console.source import FailingSource, Opened, Opening
from tui.console.textual_internals import ContainedApp
from tui.console.themes import HIGH_CONTRAST
from tui.console.typed_keys import TypedKeys
from tui.pages.page import NO_FOCUS, Focus, Page

if TYPE_CHECKING:
    from textual.driver import Driver

    from tui.facts.snapshot import Snapshot

REDRAW_SECONDS = 5.0
"""Age up to which a page is not made anew without a new snapshot."""


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
        first_page: first page of a screen, by name.
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
        first_page: Callable[[str], Page] = first_page,
        driver: type[Driver] | None = None,
    ) -> None:
        super().__init__(driver_class=driver)
        self.title = "sluice"
        self.settings = settings
        self.clock = clock
        self.opened: Opened | None = None
        self.snapshot: Snapshot | None = None
        self.frozen_at: float | None = None
        self.navigation = Navigation(first_page, "overview")
        self.main = MainScreen()
        self.keys = TypedKeys(
            super().on_event,
            lambda: [self, *self.screen.walk_children(with_self=True)],
            lambda: self.focused is not None,
            self.main.page_shown,
        )
        self._opening = opening
        self._latest: Snapshot | None = None
        self._builder = PageBuilder(self._page_was_built)
        self.requests = 0
        self._built_number = 0
        self._requested_at = 0.0
        self._focus = NO_FOCUS

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
        if self.settings.theme is not None:
            self.theme = self.settings.theme
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
        self.opened = message.opened
        self.opened.source.start(self._came)
        self.opened.source.set_focus(self._focus)
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
        if self.opened is not None:
            self.opened.source.close()
            self.opened.close()

    # --- Snapshots.

    def _came(self, snapshot: Snapshot) -> None:
        """Takes a snapshot from the source's thread."""
        if self.opened is not None and self.opened.recorder is not None:
            self.opened.recorder(snapshot)
        self._latest = snapshot
        self.post_message(SnapshotCame())

    def on_snapshot_came(self, _: SnapshotCame) -> None:
        """Shows the newest snapshot, unless the view is frozen."""
        if self.frozen_at is None and self._latest is not self.snapshot:
            self.snapshot = self._latest
            self.request_page()

    @property
    def problem(self) -> str:
        """Reason why no newer snapshot can be made; "" when it can."""
        source = None if self.opened is None else self.opened.source
        return source.problem if isinstance(source, FailingSource) else ""

    def now(self) -> float:
        """Returns the time for which pages are made, in Unix seconds."""
        if self.frozen_at is not None:
            return self.frozen_at
        if self.settings.is_replay and self.snapshot is not None:
            return self.snapshot.taken_at
        return self.clock()

    def set_frozen(self, is_frozen: bool) -> None:
        """Keeps what is shown, or shows the newest again."""
        self.frozen_at = self.now() if is_frozen else None
        self.on_snapshot_came(SnapshotCame())
        self.main.show_bars()

    def tick(self) -> None:
        """Shows the time, and has the page made anew where it shows ages."""
        if not self.main.is_composed:
            return
        self.main.show_top()
        seconds = getattr(self.navigation.current.page, "redraw_seconds", REDRAW_SECONDS)
        if self.frozen_at is None and self.now() - self._requested_at >= seconds:
            self.request_page()

    # --- Pages.

    @property
    def is_drawn(self) -> bool:
        """True when the page that was requested last is shown, and no key is on its way."""
        return self._built_number == self.requests and not self.keys.is_busy

    def request_page(self) -> None:
        """Has the current page made from the shown snapshot."""
        if self.snapshot is None:
            self.main.show_waiting()
            return
        self.requests += 1
        self._requested_at = self.now()
        self._builder.request(
            PageRequest(self.requests, self.navigation.current, self.snapshot, self.now())
        )
        self._set_focus(self.navigation.current.page.focus())

    def _page_was_built(self, request: PageRequest, page: BuiltPage) -> None:
        self.post_message(PageBuilt(request, page))

    def on_page_built(self, message: PageBuilt) -> None:
        """Shows a page, unless another one was requested since."""
        request = message.request
        if request.view.page != self.navigation.current.page or not self.main.is_composed:
            return
        self._built_number = request.number
        # Not the view of the request: the cursor may have moved while the page was built.
        self.main.show_page(message.page, self.navigation.current)

    def _set_focus(self, focus: Focus) -> None:
        if focus != self._focus:
            self._focus = focus
            if self.opened is not None:
                self.opened.source.set_focus(focus)
