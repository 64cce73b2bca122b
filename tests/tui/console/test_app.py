"""Program: first frame before anything heavy, errors, freshness, focus."""

import subprocess
import sys
from dataclasses import replace

from tests.tui.console import snapshots
from tests.tui.console.running import FakeSource, running
from tui.console.app import ConsoleApp
from tui.console.settings import ConsoleSettings
from tui.console.source import Opened
from tui.pages.page import NO_FOCUS, Focus
from tui.pages.partitions import PartitionsPage

HEAVY = ("pydantic", "aiokafka", "redis", "numpy", "confluent_kafka", "pyarrow", "yaml")


def test_the_program_imports_nothing_heavy_before_its_first_frame():
    code = (
        "import sys, tui.console.run, tui.console.app\n"
        "from tui.console.registry import PAGES, first_page\n"
        "for name in PAGES: first_page(name)\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


async def test_a_configuration_that_cannot_be_loaded_ends_the_console_with_its_error():
    def opening() -> Opened:
        raise ValueError("mistake in appliance.toml")

    app = ConsoleApp(ConsoleSettings(file="a.toml"), opening)
    async with app.run_test() as pilot:
        for _ in range(2000):
            if app.failure is not None:
                break
            await pilot.pause()
    app.close_parts()
    assert str(app.failure) == "mistake in appliance.toml"
    assert app.return_value == 1


async def test_an_error_of_a_page_is_a_line_on_screen_and_the_console_goes_on(console):
    odd = replace(snapshots.events()[0], at_ms="an hour ago")
    await console.press("8", "down")
    cursor = console.cursor
    await console.give(replace(snapshots.lagging(), alerts=(odd,)))
    await console.press("6")
    frame = console.frame()
    assert "alerts   cannot be shown" in frame
    assert "cannot be shown, please report it: AttributeError: " in frame
    await console.press("8")
    assert console.cursor == cursor
    await console.press("6")
    await console.give(snapshots.lagging())
    assert "cannot be shown" not in console.frame()


async def test_an_odd_row_is_marked_and_the_others_are_shown(console):
    odd = replace(snapshots.events()[0], event_id="1-0", at_ms=None, level=["x"], text=None)
    await console.press("8")
    await console.give(replace(snapshots.lagging(), events=(odd, *snapshots.events())))
    await console.press("s", "home", "end", "home")
    assert "pause-topic clicks" in console.frame() or "cannot be shown" in console.frame()
    await console.press("1")
    assert console.app.failure is None


async def test_the_top_line_shows_why_no_newer_snapshot_can_be_made():
    async with running(snapshots.lagging(), size=(140, 45)) as console:
        console.source.problem = "KeyError: 'offsets'"
        console.app.tick()
        await console.settled()
        assert "FAILS: KeyError: 'offsets'" in console.frame().splitlines()[0]


class RecorderInMemory:
    """Recorder that keeps snapshots in memory."""

    def __init__(self):
        self.recorded = []
        self.is_closed = False

    def record(self, snapshot):
        self.recorded.append(snapshot)

    def close(self):
        self.is_closed = True


async def test_every_snapshot_is_recorded_even_while_the_view_is_frozen():
    recorder = RecorderInMemory()
    source = FakeSource(snapshots.healthy())
    app = ConsoleApp(
        ConsoleSettings(file="a.toml"),
        lambda: Opened(source=source, recorder=recorder),
        clock=lambda: snapshots.NOW,
    )
    async with app.run_test() as pilot:
        while app.state.snapshot is None:
            await pilot.pause()
        await pilot.press("f")
        source.give(snapshots.lagging())
        await pilot.pause()
        assert len(recorder.recorded) == 2
    app.close_parts()
    assert recorder.is_closed


async def test_the_source_is_told_what_is_on_screen(console):
    assert console.source.focus == NO_FOCUS
    await console.show(PartitionsPage("east>west", "orders"))
    assert console.source.focus == Focus(topic=("east>west", "orders"))
    await console.press("1")
    assert console.source.focus == NO_FOCUS


class Undrawn(ConsoleApp):
    """Console that notes what it would draw."""

    def __init__(self, *parts, **more):
        super().__init__(*parts, **more)
        self.drawn = []

    def _display(self, screen, renderable):
        self.drawn.append(renderable)


async def test_an_unchanged_snapshot_draws_nothing():
    async with running(snapshots.lagging(), size=(140, 45), make=Undrawn) as console:
        await console.show(PartitionsPage("east>west", "orders"))
        assert console.app.drawn
        console.app.drawn.clear()
        await console.give(replace(snapshots.lagging()))
        assert console.app.drawn == []


async def test_a_page_without_a_new_snapshot_is_made_anew_after_some_seconds():
    now = [snapshots.NOW]
    async with running(snapshots.lagging(), clock=lambda: now[0]) as console:
        before = console.app.state.requests
        console.app.tick()
        assert console.app.state.requests == before
        now[0] += 6
        console.app.tick()
        await console.settled()
        assert console.app.state.requests == before + 1
