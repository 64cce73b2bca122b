"""Console that runs in a test: fixed clock, a source without servers, frames as text."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from textual import events
from textual.keys import _character_to_key, key_to_character

os.environ["TEXTUAL_ANIMATIONS"] = "none"
os.environ.pop("NO_COLOR", None)

from tests.tui.console.snapshots import NOW
from tui.console.app import ConsoleApp
from tui.console.keys import SCREENS
from tui.console.navigation import first_view
from tui.console.registry import first_page
from tui.console.settings import ConsoleSettings
from tui.console.source import Opened
from tui.facts.snapshot import Snapshot
from tui.pages.page import NO_FOCUS, Action, Focus, Page

REWRITE = "REWRITE_SNAPSHOTS"
FRAMES = Path(__file__).parent / "frames"
SIZES = ((80, 24), (100, 30), (140, 45))
PAUSE_SECONDS = 0.002
PAUSES_MAX = 15_000
QUIET_ROUNDS = 2
"""Rounds without any message, and with the newest page shown, after which a screen is complete: a
message may lead to a layout, a layout to a call after the refresh, and that to messages."""


@dataclass(frozen=True)
class FakeReplayState:
    """State of a replay that plays."""

    speed: float = 1.0
    mark: str | None = None
    is_at_end: bool = False
    problem: str | None = None


@dataclass
class FakeSource:
    """Source that gives the snapshots of a test, and records what it is asked.

    It is a replay as well.
    """

    snapshot: Snapshot | None
    asked: int = 0
    focus: Focus = NO_FOCUS
    is_closed: bool = False
    moves: list[object] = field(default_factory=list)
    problem: str = ""
    on_snapshot: Callable[[Snapshot], None] | None = None

    def start(self, on_snapshot: Callable[[Snapshot], None]) -> None:
        self.on_snapshot = on_snapshot
        if self.snapshot is not None:
            on_snapshot(self.snapshot)

    def give(self, snapshot: Snapshot) -> None:
        """Gives another snapshot."""
        assert self.on_snapshot is not None
        self.snapshot = snapshot
        self.on_snapshot(snapshot)

    def ask_now(self) -> None:
        self.asked += 1

    def set_focus(self, focus: Focus) -> None:
        self.focus = focus

    def close(self) -> None:
        self.is_closed = True

    def step(self, snapshots: int) -> None:
        self.moves.append(snapshots)

    @property
    def state(self) -> FakeReplayState:
        return FakeReplayState()

    def seek(self, at: float) -> None:
        self.moves.append(("seek", at))

    def seek_alert(self) -> None:
        self.moves.append("alert")

    def set_speed(self, factor: float) -> None:
        self.moves.append(("speed", factor))


@dataclass(frozen=True)
class FakeJob:
    """Job of a test."""

    job_id: str
    command: str
    who: str = "alice@ops"
    started_at: float = NOW - 3.0
    ended_at: float | None = None
    exit_code: int | None = None
    state: str = "running"
    meaning: str = "running"
    way_out: Sequence[str] = ()
    tail: Sequence[str] = ()
    result: Sequence[str] = ()


@dataclass
class FakeJobs:
    """Starter that starts nothing, and records what it was asked for."""

    started: list[tuple[Action, Mapping[str, str]]] = field(default_factory=list)
    found: list[FakeJob] = field(default_factory=list)
    error: Exception | None = None

    def start(self, action: Action, values: Mapping[str, str]) -> FakeJob:
        if self.error is not None:
            raise self.error
        self.started.append((action, dict(values)))
        job = FakeJob("job-1", self.command(action, values))
        self.found.insert(0, job)
        return job

    def jobs(self) -> Sequence[FakeJob]:
        return list(self.found)

    def known(self) -> Sequence[FakeJob]:
        return list(self.found)

    def command(self, action: Action, values: Mapping[str, str]) -> str:
        from tui.console.command_line import command_text

        return command_text(action, values)


@dataclass
class Running:
    """Console that runs."""

    app: ConsoleApp
    pilot: Any
    source: FakeSource
    jobs: FakeJobs

    async def until(self, claim: Callable[[], object]) -> None:
        """Waits until a claim holds."""
        for _ in range(PAUSES_MAX):
            if self.app.failure is not None:
                raise self.app.failure
            if claim():
                return
            await asyncio.sleep(PAUSE_SECONDS)
        raise AssertionError(f"never came true; the screen shows:\n{self.frame()}")

    async def settled(self) -> None:
        """Waits until the last key and the last snapshot are on screen.

        Not until the process is idle, as Textual's pilot does: it sleeps 20 ms for each question.
        """
        await self.until(self._is_quiet)
        for _ in range(QUIET_ROUNDS):
            await self.pilot.pause(0)
            await self.until(self._is_quiet)

    def _is_quiet(self) -> bool:
        pumps = [self.app, *self.app.screen.walk_children(with_self=True)]
        return self.app.is_drawn and not any(pump.message_queue_size for pump in pumps)

    async def press(self, *keys: str) -> None:
        """Presses keys, and waits until the screen shows what they did.

        The console itself lets each key take effect on what the one before has led to.
        """
        for key in keys:
            name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
            character = key if len(key) == 1 else key_to_character(key)
            self.app.post_message(events.Key(name, character))
        await self.settled()

    async def give(self, snapshot: Snapshot) -> None:
        """Gives a snapshot, and waits until it is shown."""
        self.source.give(snapshot)
        await self.settled()

    async def show(self, page: Page) -> None:
        """Shows a page that no key leads to."""
        self.app.state.navigation.open(page)
        self.app.main.page_changed()
        await self.settled()

    async def open_first(self, page: Page) -> None:
        """Shows a page as the first one of its screen."""
        navigation = self.app.state.navigation
        navigation.go_to(page.name)
        navigation.current = first_view(page)
        self.app.main.page_changed()
        await self.settled()

    async def begin_again(self, snapshot: Snapshot) -> None:
        """Shows the overview of a snapshot, as a console that was just started."""
        assert self.app.failure is None, "an earlier test of this module broke the console"
        while self.app.screen is not self.app.main:
            await self.app.pop_screen()
        navigation = self.app.state.navigation
        for name in SCREENS:
            navigation.go_to(name)
            navigation.current = first_view(first_page(name))
        navigation.go_to(SCREENS[0])
        self.app.main.end_filter("")
        self.app.main.notice("")
        self.app.state.set_frozen(False)
        self.source.problem, self.source.asked = "", 0
        self.source.moves.clear()
        self.jobs.started.clear()
        self.jobs.found.clear()
        self.jobs.error = None
        self.source.give(snapshot)
        self.app.main.page_changed()
        await self.settled()

    async def resize(self, width: int, height: int) -> None:
        """Gives the terminal another size."""
        await self.pilot.resize_terminal(width, height)
        await self.until(lambda: self.app.main.table.size.width == width)
        self.app.main.page_changed()
        await self.settled()
        await self.pilot.pause()

    def frame(self) -> str:
        """Returns the screen as text."""
        return text_frame(self.app)

    @property
    def page(self) -> Any:
        """Page that is shown."""
        return self.app.state.navigation.current.page

    @property
    def cursor(self) -> str:
        """Key of the row under the cursor."""
        row = self.app.main.table.cursor_row
        assert row is not None
        return row.key


def text_frame(app: ConsoleApp) -> str:
    """Returns the screen as text, without blanks at the ends of lines."""
    return "\n".join(line.rstrip() for line in printed(app).export_text().splitlines())


def terminal_text(app: ConsoleApp) -> str:
    """Returns the screen as a terminal gets it, with all escapes."""
    file = printed(app).file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def printed(app: ConsoleApp) -> Console:
    """Returns a recording console on which the screen was printed."""
    width, height = app.size
    console = Console(
        width=width,
        height=height,
        file=io.StringIO(),
        record=True,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    # Private, so only here; the version of Textual is pinned.
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    console.print(update)
    return console


@asynccontextmanager
async def running(
    snapshot: Snapshot | None,
    size: tuple[int, int] = (80, 24),
    settings: ConsoleSettings | None = None,
    clock: Callable[[], float] = lambda: NOW,
    make: type[ConsoleApp] = ConsoleApp,
) -> AsyncIterator[Running]:
    """Runs a console that shows a snapshot."""
    source, jobs = FakeSource(snapshot), FakeJobs()
    settings = settings or ConsoleSettings(file="appliance.toml")
    replay = source if settings.is_replay else None
    app = make(
        settings,
        lambda: Opened(source=source, jobs=jobs, replay=replay),
        clock=clock,
    )
    async with app.run_test(size=size) as pilot:
        found = Running(app, pilot, source, jobs)
        await found.until(lambda: app.state.opened is not None)
        if snapshot is not None:
            await found.until(lambda: app.state.snapshot is not None)
        await found.settled()
        try:
            yield found
        finally:
            app.close_parts()
    if app.failure is not None:
        raise app.failure


async def frames_of(pages: Mapping[str, Page], snapshot: Snapshot) -> dict[str, str]:
    """Returns the frames of pages that one console shows, in all sizes, by name of the page."""
    found = dict.fromkeys(pages, "")
    async with running(snapshot, SIZES[0]) as console:
        for width, height in SIZES:
            if (width, height) != SIZES[0]:
                await console.resize(width, height)
            for name, page in pages.items():
                await console.open_first(page)
                found[name] += f"--- {width}x{height}\n{console.frame()}\n"
    return found


def assert_frames(text: str, name: str) -> None:
    """Compares frames with frames/<name>.txt; with REWRITE_SNAPSHOTS=1 it writes them."""
    path = FRAMES / f"{name}.txt"
    if os.environ.get(REWRITE):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    stored = path.read_text() if path.exists() else "no such file"
    again = f"{REWRITE}=1 pytest tests/test_console_frames.py"
    assert text == stored, f"{path} differs; to rewrite it: {again}"
